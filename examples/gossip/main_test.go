package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestGossip_replicatesAGrowingLogOverARestart(t *testing.T) {
	const n = 2_000
	dir := t.TempDir()
	var out bytes.Buffer
	if err := run(t.Context(), dir, n, &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, part := range []string{
		"the copy has 1000 messages\n", "type contact: 250\ntype post: 500\ntype vote: 250\n",
		"the copy has 2000 messages\n", "type contact: 500\ntype post: 1000\ntype vote: 500\n",
	} {
		before, after, found := strings.Cut(text, part)
		if !found {
			t.Fatalf("%q is not in the rest %q", part, before)
		}
		text = after
	}
	original, copied := all(t, filepath.Join(dir, "original")), all(t, filepath.Join(dir, "copy"))
	if len(original) != n || !reflect.DeepEqual(original, copied) {
		t.Errorf("the copy has %d messages, and is not the log of %d", len(copied), len(original))
	}
}

// all returns all messages of a log.
func all(t *testing.T, dir string) []message {
	t.Helper()
	l, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer l.db.Close()
	var messages []message
	err = l.db.View(func(tx *stoat.Tx) error {
		for e, err := range l.feed.Query().All(tx) {
			if err != nil {
				return err
			}
			messages = append(messages, e.Value)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

func TestGossip_endsWhenItIsToldTo(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := run(ctx, t.TempDir(), 10, io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestGossip_refusesForgedMessages(t *testing.T) {
	l, err := openLog(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.db.Close(); err != nil {
			t.Error(err)
		}
	}()
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	err = l.db.Update(func(tx *stoat.Tx) error {
		return errors.Join(l.publish(tx, key, "post", "one"), l.publish(tx, key, "post", "two"))
	})
	if err != nil {
		t.Fatal(err)
	}
	var one, two message
	err = l.db.View(func(tx *stoat.Tx) (err error) {
		if one, err = l.feed.Get(tx, 0); err != nil {
			return err
		}
		two, err = l.feed.Get(tx, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	next := message{Author: two.Author, Sequence: 3, Previous: two.hash(), Type: "post"}
	next.Signature = ed25519.Sign(key, next.signed())
	for name, change := range map[string]func(*message){
		"another text":    func(m *message) { m.Text = "other" },
		"another author":  func(m *message) { m.Author = strings.Repeat("0", len(m.Author)) },
		"no author":       func(m *message) { m.Author = "" },
		"a gap":           func(m *message) { m.Sequence++; m.Signature = ed25519.Sign(key, m.signed()) },
		"another chain":   func(m *message) { m.Previous = one.hash() },
		"one seen before": func(m *message) { *m = two },
	} {
		m := next
		change(&m)
		err := l.accept([]message{m})
		if !errors.Is(err, errForged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := l.accept([]message{next}); err != nil {
		t.Errorf("the next message: %v", err)
	}
}
