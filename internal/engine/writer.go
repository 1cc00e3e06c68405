package engine

import (
	"context"
	"fmt"
	"runtime/trace"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// Writer is a write transaction: a private tree on top of the newest commit. It holds the writer
// lock until Commit or Rollback, exactly one of which must be called. Not safe for concurrent use.
type Writer struct {
	engine *Engine
	ctx    context.Context            // ends the wait for what is withheld
	base   *superversion.Superversion // what lies below the memtable
	begun  uint64                     // the newest commit in base and the memtable
	edit   *memtable.Edit

	unlogged int    // bytes in the log, at most, of what was written; 0 after each stream or spill
	unasked  int    // bytes written since stream was last tried, whether the log took them or not
	counted  bool   // its memory counts as that of the memtable; set for good
	streamed bool   // some frames are in the log's queue, or written; set for good
	room     int64  // bytes it may write, at least, before they go to tables; reset by each spill
	bytes    uint64 // the bytes of the keys and values written since Begin
	spill    *spill // what has left memory; nil if nothing has
}

const (
	// streamBytes is how much a transaction writes before that is handed to the log while the
	// transaction goes on.
	streamBytes = 512 << 10
	// entryOverhead is the most that an entry takes in the log besides its key and value.
	entryOverhead = 24 + wal.HeaderBytes
	// rolledBackShare is how many times the size of a full memtable a log segment may have. It
	// grows beyond one only by transactions that were streamed and rolled back.
	rolledBackShare = 2
)

// Begin waits for its turn and starts a write transaction.
func (e *Engine) Begin() (*Writer, error) { return e.BeginContext(context.Background()) }

// BeginContext is Begin, except that it stops waiting, for other writers, for room in memory or for
// the shipper, when ctx ends. So does the end of the transaction, while commits are withheld.
func (e *Engine) BeginContext(ctx context.Context) (*Writer, error) {
	defer trace.StartRegion(ctx, "stoat.begin").End()
	if err := e.writable(); err != nil {
		return nil, err
	}
	if e.options.Shipper != nil {
		if err := e.options.Shipper.Admit(ctx); err != nil {
			return nil, err
		}
	}
	if err := e.writer.lock(ctx, heldByTx); err != nil {
		return nil, err
	}
	if err := e.prepareAsWriter(ctx); err != nil {
		e.writer.unlock()
		e.countNoSpace(err)
		return nil, err
	}
	sizes := &e.options.Tuning
	w := &Writer{
		engine: e, ctx: ctx, base: e.state.Load(), begun: e.commits.Newest(),
		room: max(sizes.SpillBytes,
			sizes.UnspilledBytes-e.appending.mem.Bytes()-e.memory.sealed.Load()),
	}
	w.edit = e.appending.mem.BeginOver(w)
	return w, nil
}

// prepareAsWriter makes the active memtable ready for a transaction: the files below it are
// durable, and it is not full.
func (e *Engine) prepareAsWriter(ctx context.Context) error {
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.ensureOnDiskAsWriter(); err != nil {
		return err
	}
	limit := e.options.Tuning.MemtableBytes
	if e.appending.mem.Bytes() < limit && e.logBytes() < rolledBackShare*limit {
		return nil
	}
	defer context.AfterFunc(ctx, e.wakeAll)()
	switch err := e.waitRoomAsWriter(ctx); {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("waited for flushes, which writes were ahead of: %w", ended(ctx))
	case err != nil:
		return err
	}
	return e.sealAsWriter()
}

// logBytes returns the size of the active log segment.
func (e *Engine) logBytes() int64 {
	e.appending.Lock()
	defer e.appending.Unlock()
	return e.commits.LogSize()
}

// Absent reports whether nothing below the memtable can have the key. Flushes and compactions do
// not change that: what they write was below before.
func (w *Writer) Absent(key []byte) bool { return w.base.Absent(key) }

// Base returns the number of the commit that the transaction began on, which may not be visible
// yet.
func (w *Writer) Base() uint64 { return w.begun }

// Closed reports whether the database was closed, so that the transaction can only be rolled back.
func (w *Writer) Closed() bool { return w.engine.closed.Load() }

// Get returns the value of key as this transaction sees it. The value is valid and unchanged until
// the transaction ends.
func (w *Writer) Get(
	key []byte, l *superversion.Lookups,
) (value []byte, ok bool, err error) {
	var e keyspace.Entry
	if ok, err := w.find(key, l, &e); !ok {
		return nil, false, err
	}
	return w.base.Levels.Value(&e, &l.Scratch)
}

// Has reports whether there is such a key as this transaction sees it. It reads no value.
func (w *Writer) Has(key []byte, l *superversion.Lookups) (bool, error) {
	_, ok, err := w.Until(key, l)
	return ok, err
}

// Until returns when key expires as this transaction sees it, in milliseconds since 1970, or 0 if
// it never does; ok is false if there is no such key. It reads no value.
func (w *Writer) Until(
	key []byte, l *superversion.Lookups,
) (until uint64, ok bool, err error) {
	var e keyspace.Entry
	ok, err = w.find(key, l, &e)
	return e.Until, ok && w.base.Levels.Exists(&e), err
}

// Size returns the length of the value of key as this transaction sees it; ok is false if there is
// no such key. It reads no value outside of tables.
func (w *Writer) Size(
	key []byte, l *superversion.Lookups,
) (size int, ok bool, err error) {
	var e keyspace.Entry
	if ok, err = w.find(key, l, &e); !ok || err != nil {
		return 0, false, err
	}
	return w.base.Levels.Size(&e)
}

func (w *Writer) find(
	key []byte, l *superversion.Lookups, e *keyspace.Entry,
) (ok bool, err error) {
	if w.edit.Find(key, e) {
		return true, nil
	}
	return w.base.FindBelow(key, l, e)
}

// Put sets key to value, both of which are copied, until a moment in milliseconds since 1970, or
// for good if that is 0.
func (w *Writer) Put(key, value []byte, until uint64) error {
	w.noteBucket(key)
	w.edit.PutUntil(key, value, until)
	return w.wrote(len(key) + len(value))
}

// Delete removes key.
func (w *Writer) Delete(key []byte) error {
	w.noteBucket(key)
	w.edit.Delete(key)
	return w.wrote(len(key))
}

// DeleteRange removes all keys of the span, which has both bounds and is not empty.
func (w *Writer) DeleteRange(span keyspace.Span) error {
	w.edit.DeleteRange(span)
	return w.wrote(len(span.Start) + len(span.End))
}

// Now returns the time by which entries expire.
func (e *Engine) Now() time.Time { return e.options.Tuning.Now() }

// After returns the moment that is d from now, in milliseconds since 1970.
func (w *Writer) After(d time.Duration) uint64 {
	end := w.engine.Now().Add(d)
	return uint64(end.Add(time.Millisecond - 1).UnixMilli()) // of time.Time, so that the longest fits
}

// wrote counts an entry. When much was written, it goes to the log, and when that is too much for
// memory, to tables. After an error the transaction can only be rolled back.
func (w *Writer) wrote(bytes int) error {
	w.bytes += uint64(bytes)
	bytes += entryOverhead
	if w.room -= int64(bytes); w.room <= 0 {
		if err := w.waitForRoom(); err != nil {
			return err
		}
		if w.room <= 0 {
			err := w.toTables()
			w.engine.countNoSpace(err)
			return err
		}
	}
	w.unlogged += bytes
	if w.unasked += bytes; w.unasked >= streamBytes && w.spill == nil {
		w.unasked = 0
		w.stream()
	}
	return nil
}

// waitForRoom waits for the memtables that were sealed when the transaction began, and takes their
// room.
func (w *Writer) waitForRoom() error {
	if w.spill != nil || len(w.base.Sealed) == 0 {
		return nil
	}
	err := w.engine.waitFlushed(context.Background())
	w.room = w.engine.options.Tuning.UnspilledBytes - w.engine.appending.mem.Bytes()
	return err
}

// stream hands what was written to the log, has its memory counted, and has the system provide
// memory for what comes next. If the log cannot take it now, Commit will find out why.
func (w *Writer) stream() {
	e := w.engine
	e.appending.Lock()
	defer e.appending.Unlock()
	w.counted = true
	if next := w.edit.Prepare(); next != nil {
		e.spawn(func() { vfs.Provide(next) })
	}
	e.memory.setActive(e.appending.mem.Bytes())
	if !e.options.Volatile && e.readyLogAppending(int64(w.unlogged)) == nil {
		e.commits.Stream(w.edit)
		w.streamed, w.unlogged = true, 0
	}
}

// Snapshot returns what the transaction sees now; later writes do not change it. It must not be
// used after Rollback.
func (w *Writer) Snapshot() *superversion.Superversion {
	return &superversion.Superversion{
		Mem: w.edit.Root(), Sealed: w.base.Sealed, Levels: w.base.Levels,
	}
}

// Rollback ends the transaction and undoes all its writes. It waits until the commits that it
// has read are visible, so that the caller may report them.
func (w *Writer) Rollback() {
	read := w.engine.commits.Newest()
	w.undo()
	_ = w.wait(read) // a failure shows in the next commit
}

// wait returns when a commit is visible.
func (w *Writer) wait(commit uint64) error {
	if err := w.engine.commits.Wait(commit); err != nil {
		return err
	}
	return w.engine.withheld.wait(w.ctx, commit)
}

// undo ends the transaction without its writes.
func (w *Writer) undo() {
	e, shared := w.engine, w.edit
	defer e.writer.unlock()
	if w.spill != nil {
		w.spill.discard()
		shared = w.spill.shared
	}
	if !w.counted {
		shared.Rollback()
		return
	}
	e.appending.Lock() // Close may be flushing the memtable, and reads where the log has its values
	defer e.appending.Unlock()
	if w.streamed {
		e.commits.Rollback()
	}
	shared.Rollback()
	e.memory.setActive(e.appending.mem.Bytes())
}

// Commit ends the transaction and returns when its writes are durable, or, without syncs, when the
// system has them, and acknowledged, if commits are withheld. On error nothing of it was or will be
// visible, unless the error is ErrPoisoned, when opening the database again tells, or ErrUnknown.
func (w *Writer) Commit() error {
	defer trace.StartRegion(w.ctx, "stoat.commit").End()
	e := w.engine
	if w.spill != nil {
		return w.commitTables()
	}
	if w.edit.Empty() {
		// What it has read may not be visible yet, and must not be told before it is.
		read := e.commits.Newest()
		w.undo()
		return w.wait(read)
	}
	commit, err := w.append()
	if err != nil {
		e.countNoSpace(err)
		w.Rollback()
		return err
	}
	e.writer.unlock()
	e.pace.wait(int64(w.unlogged))
	return w.wait(commit)
}

// append puts the transaction's writes into the log's queue and makes its tree the newest.
func (w *Writer) append() (commit uint64, err error) {
	e := w.engine
	e.appending.Lock()
	defer e.appending.Unlock()
	if err := e.readyLogAppending(int64(w.unlogged)); err != nil {
		return 0, err
	}
	commit, e.appending.root = e.commits.Append(w.edit)
	e.committedBytes.Add(w.bytes)
	e.memory.setActive(e.appending.mem.Bytes())
	e.rest.later()
	return commit, nil
}

// readyLogAppending makes the log ready for size bytes of a transaction, so that a full disk fails
// it before anything of it is written. With its first write, a backup stops being one, durably,
// because the log belongs to the branch that leaves it; with its first write, a memtable gets a log
// segment.
func (e *Engine) readyLogAppending(size int64) error {
	if err := e.writable(); err != nil {
		return err
	}
	if e.commits.NeedsLog() {
		if err := e.leaveBackup(); err != nil {
			return err
		}
		if err := e.startLogAppending(); err != nil {
			return err
		}
	}
	return e.commits.Reserve(size)
}

// startLogAppending makes the log segment of the active memtable.
func (e *Engine) startLogAppending() error {
	number := e.nextNumber()
	log, err := wal.Create(e.folder, e.dir, number, e.database)
	if err != nil {
		return err
	}
	e.commits.StartLog(log)
	e.appending.logNumber = number
	return nil
}
