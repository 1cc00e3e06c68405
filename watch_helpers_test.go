package stoat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// textOf writes a change as text, with its Last as a full stop.
func textOf(c stoat.Change) string {
	bound := func(b []byte) string {
		if b == nil {
			return "*"
		}
		return string(b)
	}
	text := ""
	switch c.Kind {
	case stoat.ChangePut:
		text = fmt.Sprintf("%s=%s", c.Key, c.Value)
	case stoat.ChangeDelete:
		text = "-" + string(c.Key)
	case stoat.ChangeDeleteRange:
		text = fmt.Sprintf("-%s:%s", bound(c.Key), bound(c.End))
	}
	if c.Last {
		text += "."
	}
	return text
}

// follower is a loop over changes in a goroutine of its own, in a bubble of synctest.
type follower struct {
	texts  []string // of what was told so far
	last   stoat.Position
	err    error          // that ended it
	at     stoat.Position // told with that
	cancel context.CancelFunc
	done   chan struct{}
}

// follow starts a loop over the changes of the bucket at path, whose names slashes separate.
func follow(db *stoat.DB, path string, r stoat.Range, from stoat.Position) *follower {
	ctx, cancel := context.WithCancel(context.Background())
	f := &follower{cancel: cancel, done: make(chan struct{})}
	var names [][]byte
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		names = append(names, []byte(name))
	}
	go func() {
		defer close(f.done)
		for c, err := range db.WatchBucket(ctx, names, r, from) {
			if err != nil {
				f.err, f.at = err, c.Position
				continue // there is nothing behind it
			}
			f.texts, f.last = append(f.texts, textOf(c)), c.Position
		}
	}()
	return f
}

// wants waits until the loop waits, and wants it to have told these changes and not to have ended.
func (f *follower) wants(t testing.TB, want string) {
	t.Helper()
	synctest.Wait()
	equal(t, strings.Join(f.texts, " "), want)
	if f.err != nil {
		t.Errorf("the loop has ended: %v", f.err)
	}
}

// ends waits for the end of the loop, and wants it to have told these changes and this error.
func (f *follower) ends(t testing.TB, want string, err error) {
	t.Helper()
	<-f.done
	equal(t, strings.Join(f.texts, " "), want)
	if !errors.Is(f.err, err) {
		t.Errorf("the loop ends with %v, want %v", f.err, err)
	}
}

// stop cancels the loop.
func (f *follower) stop(t testing.TB) {
	t.Helper()
	f.cancel()
	<-f.done
	if !errors.Is(f.err, context.Canceled) {
		t.Errorf("the loop ends with %v, want %v", f.err, context.Canceled)
	}
}

// watching runs a test in a bubble, once with a database on disk and once with one in memory.
func watching(t *testing.T, fn func(t *testing.T, db *stoat.DB)) {
	t.Run("disk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db := openOn(t, memfs.New(), nil)
			defer func() { ok(t, db.Close()) }()
			fn(t, db)
		})
	})
	t.Run("memory", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			db, err := stoat.OpenMemory(nil)
			ok(t, err)
			defer func() { ok(t, db.Close()) }()
			fn(t, db)
		})
	})
}

// putAll is put with a transaction for each key.
func putAll(t testing.TB, db *stoat.DB, keys ...string) {
	t.Helper()
	for _, key := range keys {
		ok(t, db.Put([]byte(key), []byte("v-"+key)))
	}
}
