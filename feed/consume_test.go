package feed_test

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// record is what consumers do in tests: note in the database how often an entry was handled.
func record(tx *stoat.Tx, e feed.Entry[post]) error {
	b, err := tx.CreateBucketIfNotExists([]byte("handled"))
	if err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint64(nil, e.Seq)
	times, err := b.Get(key)
	if errors.Is(err, stoat.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return err
	}
	return b.Put(key, append(slices.Clone(times), 'x'))
}

// wantHandled wants the entries to have been handled once each.
func wantHandled(t testing.TB, db *stoat.DB, want ...uint64) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		t.Helper()
		var got []uint64
		b, err := tx.Bucket([]byte("handled"))
		if errors.Is(err, stoat.ErrBucketNotFound) && len(want) == 0 {
			return
		}
		ok(t, err)
		for key, times := range b.Scan(stoat.Range{}) {
			got = append(got, binary.BigEndian.Uint64(key))
			equal(t, string(times), "x")
		}
		if !slices.Equal(got, want) {
			t.Errorf("entries %v were handled, want %v", got, want)
		}
	})
}

// wantCursor wants a consumer to be at an entry.
func wantCursor(t testing.TB, db *stoat.DB, f *feed.Feed[post], name string, want uint64) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) {
		t.Helper()
		got, err := f.Cursor(tx, name)
		ok(t, err)
		equal(t, got, want)
	})
}

// upTo returns the numbers below n.
func upTo(n uint64) []uint64 {
	var all []uint64
	for i := range n {
		all = append(all, i)
	}
	return all
}

// consumeTo consumes until the entry last is handled.
func consumeTo(t testing.TB, db *stoat.DB, f *feed.Feed[post], name string, last uint64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Consume(ctx, db, name, func(tx *stoat.Tx, e feed.Entry[post]) error {
		if e.Seq == last {
			cancel()
		}
		return record(tx, e)
	})
	wantErr(t, err, context.Canceled)
}

func TestConsume_goesOnWhereItWas(t *testing.T) {
	dir := t.TempDir()
	for i := range uint64(4) {
		db, err := stoat.Open(dir, &stoat.Options{Sync: stoat.SyncNever})
		ok(t, err)
		f := open(t, db, &feed.Options[post]{Batch: 3})
		wantCursor(t, db, f, "c", i*8)
		appendAll(t, db, f, numbered(10)...)
		consumeTo(t, db, f, "c", i*8+7)
		wantCursor(t, db, f, "c", i*8+8)
		wantHandled(t, db, upTo(i*8+8)...)
		ok(t, db.Close())
	}
}

func TestConsume_stopsAtAnErrorAndKeepsWhatWasBefore(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(20)...)
	errBad := errors.New("bad entry")
	for _, bad := range []uint64{0, 7, 8} {
		err := f.Consume(t.Context(), db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
			ok(t, record(tx, e))
			if e.Seq == bad {
				return errBad
			}
			return nil
		})
		wantErr(t, err, errBad)
		var at *feed.ConsumeError
		if !errors.As(err, &at) || at.Seq != bad || at.Consumer != "c" {
			t.Errorf("the error is %v", err)
		}
		wantHandled(t, db, upTo(bad)...)
		wantCursor(t, db, f, "c", bad)
	}
	update(t, db, func(tx *stoat.Tx) { // pass the bad one over
		ok(t, f.SetCursor(tx, "c", 19))
		wantErr(t, f.SetCursor(tx, "c", 21), stoat.ErrNotFound)
	})
	consumeTo(t, db, f, "c", 19)
	wantHandled(t, db, append(upTo(8), 19)...)
}

func TestConsume_undoesTheBatchOfAPanic(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Batch: 4})
	appendAll(t, db, f, numbered(10)...)
	func() {
		defer func() { equal(t, recover(), any("broken")) }()
		_ = f.Consume(t.Context(), db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
			ok(t, record(tx, e))
			if e.Seq == 6 {
				panic("broken")
			}
			return nil
		})
	}()
	wantHandled(t, db, upTo(4)...)
	consumeTo(t, db, f, "c", 9)
	wantHandled(t, db, upTo(10)...)
}

func TestConsume_passesRedactedEntriesOver(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(5)...)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.Redact(tx, 0))
		ok(t, f.Redact(tx, 3))
	})
	consumeTo(t, db, f, "c", 4)
	wantHandled(t, db, 1, 2, 4)
	wantCursor(t, db, f, "c", 5)
}

func TestConsume_doesNotPassOverWhatRetentionRemoved(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(5)...)
	consumeTo(t, db, f, "c", 1)
	update(t, db, func(tx *stoat.Tx) {
		ok(t, f.SetCursor(tx, "c", 2))
		ok(t, f.Retain(tx, feed.Retention{Count: 1}))
	})
	err := f.Consume(t.Context(), db, "c", record)
	wantErr(t, err, feed.ErrExpired)
	wantCursor(t, db, f, "c", 2)
	wantCursor(t, db, f, "new", 4)
	consumeTo(t, db, f, "new", 4)
}

func TestConsume_isToldOfRetentionBeforeItsFirstCommit(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(1)...)
	errDown := errors.New("down")
	down := func(*stoat.Tx, feed.Entry[post]) error { return errDown }
	wantErr(t, f.Consume(t.Context(), db, "c", down), errDown)
	appendAll(t, db, f, numbered(2)...)
	update(t, db, func(tx *stoat.Tx) { ok(t, f.Retain(tx, feed.Retention{Count: 1})) })
	wantErr(t, f.Consume(t.Context(), db, "c", record), feed.ErrExpired)
	wantCursor(t, db, f, "c", 0)
}

func TestConsume_goesWhereItsFunctionHasSetIt(t *testing.T) {
	for _, batch := range []int{1, 3, 100} {
		db := memory(t)
		f := open(t, db, &feed.Options[post]{Batch: batch})
		appendAll(t, db, f, numbered(10)...)
		ctx, cancel := context.WithCancel(t.Context())
		again := true
		err := f.Consume(ctx, db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
			switch {
			case e.Seq == 2:
				ok(t, f.SetCursor(tx, "other", 1))
				ok(t, f.SetCursor(tx, "c", 7))
			case e.Seq == 8 && again:
				again = false
				return f.SetCursor(tx, "c", 8)
			case e.Seq == 9:
				cancel()
			}
			return record(tx, e)
		})
		wantErr(t, err, context.Canceled)
		wantHandled(t, db, 0, 1, 2, 7, 8, 9)
		wantCursor(t, db, f, "c", 10)
		wantCursor(t, db, f, "other", 1)
	}
}

func TestConsume_mayAppendToItsFeed(t *testing.T) {
	db := memory(t)
	f := open(t, db, &feed.Options[post]{Batch: 3})
	appendAll(t, db, f, numbered(1)...)
	ctx, cancel := context.WithCancel(t.Context())
	err := f.Consume(ctx, db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
		if e.Seq == 20 {
			cancel()
		}
		for range 2 {
			if _, err := f.Append(tx, &post{}); err != nil {
				return err
			}
		}
		return record(tx, e)
	})
	wantErr(t, err, context.Canceled)
	wantHandled(t, db, upTo(21)...)
}

func TestConsume_followsWhatIsAppended(t *testing.T) {
	db := memory(t)
	f := open[post](t, db, nil)
	const n = 200
	done := make(chan struct{})
	for range 2 { // two that share a name
		go func() {
			defer func() { done <- struct{}{} }()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			err := f.Consume(ctx, db, "c", func(tx *stoat.Tx, e feed.Entry[post]) error {
				if e.Seq >= n-1 {
					cancel()
				}
				return record(tx, e)
			})
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}()
	}
	for range n {
		appendAll(t, db, f, numbered(1)...)
	}
	<-done
	wantHandled(t, db, upTo(n)...)
	appendAll(t, db, f, numbered(1)...) // for the other one
	<-done
	wantHandled(t, db, upTo(n+1)...)
}

func TestConsume_endsWithTheDatabase(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	f := open[post](t, db, nil)
	appendAll(t, db, f, numbered(1)...)
	handled := make(chan struct{})
	ended := make(chan error)
	go func() {
		ended <- f.Consume(t.Context(), db, "c", func(*stoat.Tx, feed.Entry[post]) error {
			close(handled)
			return nil
		})
	}()
	<-handled
	ok(t, db.Close())
	wantErr(t, <-ended, stoat.ErrClosed)
}
