package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/wal"
)

// Writer is a write transaction: a private tree on top of the newest commit. It holds the writer
// lock until Commit or Rollback, exactly one of which must be called. Not safe for concurrent use.
type Writer struct {
	engine *Engine
	base   *superversion.Superversion // what lies below the memtable
	begun  uint64                     // the newest commit in base and the memtable
	edit   *memtable.Edit

	pending  int    // at least the log's bytes since frames were taken last
	waiting  int    // those of them since the log was last asked to take them
	counted  bool   // its memory counts as that of the memtable
	streamed bool   // some frames are in the log's queue, or written
	room     int64  // it may write so many bytes more, at least, before they go to tables
	bytes    uint64 // the bytes of the keys and values written since Begin
	spill    *spill // what has left memory; nil while that is nothing
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

// BeginContext is Begin, which waits until ctx ends: for others who write, and for room in memory.
func (e *Engine) BeginContext(ctx context.Context) (*Writer, error) {
	if err := e.writable(); err != nil {
		return nil, err
	}
	if err := e.writer.lock(ctx, e.stop, heldByTx); err != nil {
		return nil, err
	}
	if err := e.prepare(ctx); err != nil {
		e.writer.unlock()
		return nil, err
	}
	sizes := &e.options.Tuning
	w := &Writer{
		engine: e, base: e.state.Load(), begun: e.commits.Newest(),
		room: max(sizes.SpillBytes, sizes.UnspilledBytes-e.turn.mem.Bytes()-e.sealedBytes.Load()),
	}
	w.edit = e.turn.mem.BeginOver(w)
	return w, nil
}

// Absent reports whether surely nothing below the memtable that the transaction writes to has the
// key. Flushes and compactions do not change that: what they write was below before.
func (w *Writer) Absent(key []byte) bool { return w.base.Absent(key) }

// Base returns the number of the commit that the transaction began on, which may not be visible
// yet.
func (w *Writer) Base() uint64 { return w.begun }

// Closed reports whether the database was closed, so that the transaction can only be rolled back.
func (w *Writer) Closed() bool { return w.engine.closed.Load() }

// prepare makes the active memtable ready for a transaction. The caller holds the writer lock.
func (e *Engine) prepare(ctx context.Context) error {
	if err := e.writable(); err != nil {
		return err
	}
	if err := e.ensureOnDisk(); err != nil {
		return err
	}
	limit := e.options.Tuning.MemtableBytes
	if e.turn.mem.Bytes() < limit && e.logBytes() < rolledBackShare*limit {
		return nil
	}
	defer context.AfterFunc(ctx, e.stir)()
	switch err := e.waitForRoom(ctx); {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("waited for flushes, which writes were ahead of: %w", ended(ctx))
	case err != nil:
		return err
	}
	return e.seal()
}

// Get returns the value of key as this transaction sees it. The value is valid and unchanged until
// the transaction ends.
func (w *Writer) Get(
	key []byte, scratch *superversion.Scratch,
) (value []byte, ok bool, err error) {
	e, ok, err := w.find(key)
	if !ok {
		return nil, false, err
	}
	return w.base.Levels.Value(e, scratch)
}

// Has reports whether there is such a key as this transaction sees it. It reads no value.
func (w *Writer) Has(key []byte) (bool, error) {
	_, ok, err := w.Until(key)
	return ok, err
}

// Until returns when key expires as this transaction sees it, in milliseconds since 1970, or 0 if
// it does not; ok is false if there is no such key. It reads no value.
func (w *Writer) Until(key []byte) (until uint64, ok bool, err error) {
	e, ok, err := w.find(key)
	return e.Until, ok && w.base.Levels.Exists(e), err
}

func (w *Writer) find(key []byte) (keyspace.Entry, bool, error) {
	if e, ok := w.edit.Peek().Get(key); ok {
		return e, true, nil
	}
	return w.base.FindBelow(key)
}

// Put sets key to value, both of which are copied, until a moment in milliseconds since 1970; 0
// stands for ever.
func (w *Writer) Put(key, value []byte, until uint64) error {
	w.edit.PutUntil(key, value, until)
	return w.wrote(len(key) + len(value))
}

// Delete removes key.
func (w *Writer) Delete(key []byte) error {
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

// After returns the moment that lies d ahead, in milliseconds since 1970.
func (w *Writer) After(d time.Duration) uint64 {
	end := w.engine.Now().Add(d)
	return uint64(end.Add(time.Millisecond - 1).UnixMilli()) // of time.Time, so that the longest fits
}

// wrote counts an entry. When much was written, it goes to the log, and when that is too much for
// memory, to tables. An error is one of tables; the transaction can only be rolled back then.
func (w *Writer) wrote(bytes int) error {
	w.bytes += uint64(bytes)
	bytes += entryOverhead
	if w.room -= int64(bytes); w.room <= 0 {
		return w.toTables()
	}
	w.pending += bytes
	if w.waiting += bytes; w.waiting >= streamBytes && w.spill == nil {
		w.waiting = 0
		w.stream()
	}
	return nil
}

// stream hands what was written to the log, and has its memory counted. If the log does not take it
// now, Commit will find out why.
func (w *Writer) stream() {
	e := w.engine
	e.turn.Lock()
	defer e.turn.Unlock()
	w.counted = true
	e.takesMemory(e.turn.mem.Bytes())
	if e.options.Volatile {
		return
	}
	if e.reserve(int64(w.pending)) == nil {
		e.commits.Stream(w.edit)
		w.streamed, w.pending = true, 0
	}
}

// Snapshot returns what the transaction sees now; later writes do not change it. It must not be
// used after Rollback.
func (w *Writer) Snapshot() *superversion.Superversion {
	return &superversion.Superversion{
		Mem: w.edit.Root(), Sealed: w.base.Sealed, Levels: w.base.Levels,
	}
}

// Rollback ends the transaction and undoes all its writes. It returns when what the transaction has
// read is as visible and durable as a commit, if it can be: the caller may tell others about it.
func (w *Writer) Rollback() {
	read := w.engine.commits.Newest()
	w.undo()
	_ = w.engine.commits.Wait(read) // a failure shows in the next commit
}

// undo ends the transaction without its writes.
func (w *Writer) undo() {
	switch {
	case w.spill != nil:
		if w.streamed {
			w.engine.commits.Rollback()
		}
		w.spill.discard()
	case w.streamed:
		w.engine.commits.Rollback()
		w.engine.turn.Lock() // Close may be flushing the memtable
		w.edit.Rollback()
		w.engine.turn.Unlock()
	default:
		w.edit.Rollback()
	}
	if w.counted {
		w.engine.turn.Lock()
		w.engine.takesMemory(w.engine.turn.mem.Bytes())
		w.engine.turn.Unlock()
	}
	w.engine.writer.unlock()
}

// Commit ends the transaction and returns when its writes are durable, or, without syncs, when the
// system has them. On error nothing of it was or will be visible, unless the error is ErrPoisoned:
// then opening the database again tells.
func (w *Writer) Commit() error {
	e := w.engine
	if w.spill != nil {
		return w.commitTables()
	}
	if w.edit.Empty() {
		read := e.commits.Newest()
		w.undo()
		return e.commits.Wait(read)
	}
	commit, size, err := w.append()
	if err != nil {
		w.Rollback()
		return err
	}
	e.writer.unlock()
	e.pace(size)
	return e.commits.Wait(commit)
}

// append puts the transaction's writes into the log's queue and makes its tree the newest.
func (w *Writer) append() (commit uint64, size int64, err error) {
	e := w.engine
	e.turn.Lock()
	defer e.turn.Unlock()
	size = int64(w.pending)
	if err := e.reserve(size); err != nil {
		return 0, 0, err
	}
	commit, e.turn.newest = e.commits.Append(w.edit)
	e.committedBytes.Add(w.bytes)
	e.takesMemory(e.turn.mem.Bytes())
	e.restLater()
	return commit, size, nil
}

// reserve makes sure that the log exists and has room, so that a full disk fails a commit before
// anything of it is written. The caller holds e.turn.
func (e *Engine) reserve(size int64) error {
	if err := e.writable(); err != nil {
		return err
	}
	if !e.commits.Started() {
		if err := e.leaveBackup(); err != nil {
			return err
		}
		if err := e.startLog(); err != nil {
			return err
		}
	}
	return e.commits.Reserve(size)
}

// startLog makes the log segment of the active memtable. The caller holds e.turn.
func (e *Engine) startLog() error {
	number := e.nextNumber()
	log, err := wal.Create(e.folder, e.dir, number, e.database)
	if err != nil {
		return err
	}
	e.commits.Start(log)
	e.turn.logNumber = number
	return nil
}

// pace lets a commit of size bytes take as long as the flushes and compactions behind it need, so
// that writers slow down smoothly before they would have to stop. The caller holds no lock.
func (e *Engine) pace(size int64) {
	if perByte := e.paceNanos.Load(); perByte > 0 {
		start := time.Now()
		time.Sleep(min(time.Duration(size*perByte), maxPause))
		e.delayed.Add(int64(time.Since(start)))
	}
}

// maxPause bounds how long one commit is held back.
const maxPause = 100 * time.Millisecond
