package commit

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

var (
	errBroken = errors.New("broken on purpose")
	errClosed = errors.New("closed on purpose")
	errEnough = errors.New("enough") // ends a follower
)

var identity = [16]byte{1, 2, 3}

// database is as little of a database as a pipeline can serve: one memtable with one log segment.
// Methods that write are for one goroutine at a time.
type database struct {
	*Pipeline
	files vfs.FS
	table *memtable.Memtable
	jobs  sync.WaitGroup

	mu        sync.Mutex
	published []uint64 // commits, in the order in which they became visible
	words     int      // entries in the newest published tree
	poison    error
	disowned  error
}

// newDatabase returns an empty database. The pipeline's functions are set here.
func newDatabase(t testing.TB, files vfs.FS, c Config) *database {
	t.Helper()
	d := &database{files: files, table: memtable.New(wal.HeaderBytes)}
	c.Publish = func(commit uint64, root memtable.Root) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.published, d.words = append(d.published, commit), root.Len()
	}
	c.Poison = func(cause error) error {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.poison = errors.Join(d.poison, cause)
		return d.poison
	}
	c.Poisoned = func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.poison
	}
	c.Owned = func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.disowned
	}
	c.Spawn = d.jobs.Go
	if c.Clock == nil {
		start := time.Now()
		c.Clock = func() time.Duration { return time.Since(start) }
	}
	d.Pipeline = New(c)
	ok(t, files.MkdirAll("db"))
	if !c.Volatile {
		d.startLog(t, 1)
	}
	t.Cleanup(func() {
		if log := d.EndLog(); log != nil {
			_ = log.Close()
		}
		d.jobs.Wait()
	})
	return d
}

// startLog starts a log segment.
func (d *database) startLog(t testing.TB, number uint64) {
	t.Helper()
	log, err := wal.Create(d.files, "db", number, identity)
	ok(t, err)
	d.StartLog(log)
}

// append appends a commit that puts each of the words, and returns its number.
func (d *database) append(t testing.TB, words ...string) uint64 {
	t.Helper()
	edit := d.edit(words...)
	ok(t, d.Reserve(1<<10))
	commit, _ := d.Append(edit)
	return commit
}

// edit begins a transaction and puts each of the words.
func (d *database) edit(words ...string) *memtable.Edit {
	edit := d.table.Begin()
	for _, word := range words {
		edit.PutUntil([]byte(word), []byte(word), 0)
	}
	return edit
}

// commit appends each word as a commit of its own and waits until it is visible.
func (d *database) commit(t testing.TB, words ...string) {
	t.Helper()
	for _, word := range words {
		ok(t, d.Wait(d.append(t, word)))
	}
}

// wantPublished checks which commits have become visible, in this order.
func (d *database) wantPublished(t testing.TB, want ...uint64) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.published, want) {
		t.Errorf("commits %v were published, want %v", d.published, want)
	}
}

// wantLogged checks what recovery would find in the log segment: the words of each commit, joined.
func wantLogged(t testing.TB, files vfs.Files, want ...string) {
	t.Helper()
	var got []string
	_, err := wal.Replay(files, "db", 1, identity, 0,
		func(commit uint64, payloads []wal.Payload) error {
			got = append(got, wordsOf(t, Batch{Commit: commit, payloads: payloads}))
			return nil
		})
	ok(t, err)
	if !slices.Equal(got, want) {
		t.Errorf("the log has %q, want %q", got, want)
	}
}

// wordsOf returns the words that a commit puts, joined.
func wordsOf(t testing.TB, b Batch) string {
	t.Helper()
	var words []string
	ok(t, b.Each(func(_ []byte, e keyspace.Entry) error {
		words = append(words, string(e.Value))
		return nil
	}))
	return strings.Join(words, "+")
}

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hooked returns a file system in memory that calls before ahead of each operation of a kind.
func hooked(kind faultfs.Kind, before func() error) vfs.FS {
	return faultfs.New(memfs.New(), func(op faultfs.Op) error {
		if op.Kind == kind {
			return before()
		}
		return nil
	})
}
