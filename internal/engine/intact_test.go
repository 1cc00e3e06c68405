package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCheck_passesOnAnIntactDatabaseAtAnyMoment checks a database deeply, and now and then at the
// same time as something else happens to it: commits, large ones, loads, range deletions, dropped
// buckets, flushes, compactions, backups, failures to create files, pauses, and being opened again.
func TestCheck_passesOnAnIntactDatabaseAtAnyMoment(t *testing.T) {
	histories := uint64(30)
	if testing.Short() {
		histories = 8
	}
	for seed := range histories {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newIntact(t, seed).live() })
		})
	}
}

// intact is a database that is used at random and must pass its check at any moment.
type intact struct {
	t       *testing.T
	rng     *rand.Rand
	disk    *memfs.FS
	files   vfs.FS
	e       *Engine
	failing atomic.Value // string: files with that in their names cannot be created; "": all can
	next    uint64       // the id of the next bucket
	buckets []uint64     // those that exist
}

func newIntact(t *testing.T, seed uint64) *intact {
	in := &intact{t: t, rng: rand.New(rand.NewPCG(seed, 0)), disk: memfs.New(), next: 1}
	in.files = faultfs.New(in.disk, func(op faultfs.Op) error {
		failing, _ := in.failing.Load().(string)
		if op.Kind == faultfs.Create && failing != "" &&
			strings.Contains(filepath.Base(op.Name), failing) {
			return errBroken
		}
		return nil
	})
	return in
}

func (in *intact) open() {
	sizes := []int{1 << 10, 8 << 10, 64 << 10}
	size := int64(sizes[in.rng.IntN(len(sizes))])
	in.e = mustOpen(in.t, in.files, Options{ValueThreshold: 200, Tuning: Tuning{
		MemtableBytes: size, SpillBytes: size / 2, UnspilledBytes: size, TableBytes: 4 << 10,
		ValueBytes: 4 << 10, Garbage: 1 << 10, RestBytes: int64(1 + in.rng.IntN(2)*int(size)),
		RestGarbage: 1, JournalBytes: int64(1 + in.rng.IntN(4096)), YoungRuns: 1 + in.rng.IntN(4),
	}})
}

// live uses the database and checks it after each step, and in the middle of some.
func (in *intact) live() {
	in.open()
	for step := range 60 {
		beside := make(chan error, 1)
		if at := time.Duration(in.rng.IntN(2000)) * time.Millisecond; in.rng.IntN(2) == 0 {
			go func(e *Engine) {
				<-time.After(at)
				beside <- e.Check(in.t.Context(), true)
			}(in.e)
		} else {
			beside <- nil
		}
		did, err := in.step()
		checked := <-beside
		if err != nil && !errors.Is(err, errBroken) {
			in.t.Fatalf("step %d, %s: %v", step, did, err)
		}
		in.failing.Store("")
		if err := in.e.Check(in.t.Context(), true); err != nil {
			in.t.Fatalf("after step %d, %s: %v", step, did, err)
		}
		if checked != nil && !errors.Is(checked, ErrClosed) {
			in.t.Fatalf("beside step %d, %s: %v", step, did, checked)
		}
	}
	ok(in.t, in.e.Close())
}

// step does something with the database and says what.
func (in *intact) step() (did string, err error) {
	ctx := in.t.Context()
	switch n := in.rng.IntN(20); n {
	case 0, 1, 2, 3:
		return "a commit", in.write(1 + in.rng.IntN(5))
	case 4:
		return "a large commit", in.write(200)
	case 5:
		return "a range deletion", in.commit(func(w *Writer) error {
			from := in.rng.IntN(100)
			return w.DeleteRange(keyspace.Span{Start: dataKey("%03d", from),
				End: dataKey("%03d", from+1+in.rng.IntN(40))})
		})
	case 6, 7:
		return "a new bucket", in.create()
	case 8:
		return "a dropped bucket", in.drop()
	case 9:
		return "a flush", in.e.Flush()
	case 10:
		return "a compaction", in.e.Compact(ctx)
	case 11:
		link := in.rng.IntN(2) == 0
		return "a backup", in.e.Backup(ctx, in.disk, fmt.Sprintf("copy, link=%t", link), link)
	case 12:
		in.failing.Store([]string{"MANIFEST-", ".table", ".log"}[in.rng.IntN(3)])
		err := errors.Join(in.write(20), in.e.Flush())
		<-time.After(time.Duration(in.rng.IntN(3000)) * time.Millisecond)
		return "failures", err
	case 13:
		return "a load", in.load(ctx)
	case 14:
		err := in.e.Close()
		in.open()
		return "opening again", err
	case 15:
		w, err := in.e.Begin()
		if err == nil {
			err = in.writeIn(w, 1+in.rng.IntN(100))
			w.Rollback()
		}
		return "a rollback", err
	}
	<-time.After(time.Duration(1<<in.rng.IntN(17)) * time.Millisecond)
	return "a pause", nil
}

// commit commits what fn writes.
func (in *intact) commit(fn func(w *Writer) error) error {
	w, err := in.e.Begin()
	if err != nil {
		return err
	}
	if err := fn(w); err != nil {
		w.Rollback()
		return err
	}
	return w.Commit()
}

func (in *intact) write(n int) error {
	return in.commit(func(w *Writer) error { return in.writeIn(w, n) })
}

// writeIn puts or deletes n keys of the root or of a bucket.
func (in *intact) writeIn(w *Writer, n int) error {
	for range n {
		name, size := in.rng.IntN(140), in.rng.IntN(100)
		if in.rng.IntN(10) == 0 {
			size *= 8
		}
		key := dataKey("%03d", name)
		if len(in.buckets) > 0 && in.rng.IntN(2) == 0 {
			id := in.buckets[in.rng.IntN(len(in.buckets))]
			key = fmt.Appendf(keyspace.AppendPrefix(nil, id), "%03d", name)
		}
		value := make([]byte, size) // that does not compress
		for i := range value {
			value[i] = byte(in.rng.Uint32())
		}
		err := w.Put(key, value, 0)
		if in.rng.IntN(4) == 0 {
			err = w.Delete(key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (in *intact) create() error {
	id := in.next
	err := in.commit(func(w *Writer) error {
		return errors.Join(w.Put(bucketNamed(0, fmt.Sprint(id)), number(id), 0),
			w.Put(keyspace.AppendNextID(nil), number(id+1), 0))
	})
	if err == nil {
		in.next, in.buckets = id+1, append(in.buckets, id)
	}
	return err
}

func (in *intact) drop() error {
	if len(in.buckets) == 0 {
		return nil
	}
	id := in.buckets[0]
	err := in.commit(func(w *Writer) error {
		return errors.Join(w.Delete(bucketNamed(0, fmt.Sprint(id))),
			w.Put(keyspace.AppendDropped(nil, id), nil, 0))
	})
	if err == nil {
		in.buckets = in.buckets[1:]
	}
	return err
}

// load loads keys, ascending or not.
func (in *intact) load(ctx context.Context) error {
	l, err := in.e.BeginLoad(ctx)
	if err != nil {
		return err
	}
	from, ascending := in.rng.IntN(100), in.rng.IntN(2) == 0
	for i := range 1 + in.rng.IntN(100) {
		name := from + i
		if !ascending {
			name = in.rng.IntN(140)
		}
		if err := l.Put(dataKey("%03d", name), []byte("loaded")); err != nil {
			return errors.Join(err, l.Rollback())
		}
	}
	return l.Commit()
}
