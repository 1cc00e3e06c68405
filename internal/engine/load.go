package engine

import (
	"bytes"
	"context"
	"errors"

	"github.com/stoatdb/stoat/internal/compaction"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Loader is a write transaction that goes to tables at once, past log and memtable. While keys
// ascend, they are written as they come; from the first that does not, they are sorted in memory
// and written in the background, a run for so many. It holds the writer lock until Commit or
// Rollback, exactly one of which must be called. Not safe for concurrent use.
type Loader struct {
	w      *Writer
	run    *run.Writer // nil before the first key, and once one did not ascend
	place  place       // where the run belongs
	limit  []byte      // where the gap ends that the run lies in; nil for no bound
	bytes  uint64      // of the run's keys and values
	narrow bool        // the gap before ended after a few keys; a run for each would cost too much
	last   []byte      // the key before; nil before the first

	filling *sorter.Sorter // of pairs that do not ascend
	writing *sorter.Sorter // those that are being written
}

// place says where the keys of a loader's run lie among those that there are.
type place uint8

const (
	among  place = iota // they may lie anywhere
	inGap               // between two neighbours
	beyond              // above all
)

// BeginLoad waits for its turn, until ctx ends, and starts a load.
func (e *Engine) BeginLoad(ctx context.Context) (*Loader, error) {
	w, err := e.BeginContext(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.toTables(); err != nil { // what was committed before
		w.Rollback()
		return nil, err
	}
	return &Loader{w: w, filling: new(sorter.Sorter), writing: new(sorter.Sorter)}, nil
}

// Writer returns the transaction of the load, for what is written beside the pairs, and under other
// keys.
func (l *Loader) Writer() *Writer { return l.w }

// Put sets key to value. Both are copied.
func (l *Loader) Put(key, value []byte) error {
	if err := l.w.engine.writable(); err != nil {
		return err
	}
	switch {
	case l.last == nil:
		if err := l.start(key); err != nil {
			return err
		}
	case l.run != nil && bytes.Compare(key, l.last) <= 0:
		if err := l.end(); err != nil {
			return err
		}
	case l.run != nil && l.ends(key):
		small := compaction.Small(l.w.engine.options.Tuning.TableBytes)
		l.narrow = l.place == inGap && l.bytes < small
		if err := l.end(); err != nil {
			return err
		}
		if err := l.start(key); err != nil {
			return err
		}
	}
	l.w.bytes += uint64(len(key) + len(value))
	if l.run == nil {
		return l.sort(key, value)
	}
	l.last = append(l.last[:0], key...)
	l.bytes += uint64(len(key) + len(value))
	return l.run.Add(key, keyspace.Entry{Kind: keyspace.KindPut, Value: value})
}

// sort adds a pair to those that are sorted, and has them written if that is due.
func (l *Loader) sort(key, value []byte) error {
	if !l.filling.Fits(len(key), len(value)) {
		if err := l.flush(); err != nil {
			return err
		}
	}
	l.filling.Add(key, value)
	if l.filling.Bytes() < l.w.engine.options.Tuning.SpillBytes {
		return nil
	}
	return l.flush()
}

// flush has the pairs that are to be sorted written in the background.
func (l *Loader) flush() error {
	if l.filling.Len() == 0 {
		return nil
	}
	if err := l.w.spill.wait(); err != nil {
		return err
	}
	l.filling, l.writing = l.writing, l.filling
	l.filling.Reset()
	return l.w.spill.startSorted(l.writing)
}

// ends reports whether key, which is above the run's, is not to be part of it: because the gap ends
// before, or because the next may be wider, for which there is a look once a table.
func (l *Loader) ends(key []byte) bool {
	if l.place == among {
		return l.run.Files() > 0
	}
	return l.limit != nil && bytes.Compare(key, l.limit) >= 0
}

// start opens the run of ascending keys.
func (l *Loader) start(first []byte) error {
	if err := l.w.spill.wait(); err != nil {
		return err
	}
	levels := l.w.spill.levels
	l.place, l.limit, l.bytes = among, nil, 0
	if levels.Above(first) {
		l.place = beyond
	} else if !l.narrow {
		l.findGap(levels, first)
	}
	l.narrow = false
	job := l.w.engine.flushJob(sealed{}, levels, false)
	l.run = run.NewWriter(job.Config(l.place != among, nil))
	return nil
}

// findGap sets the gap that first lies in, if it lies in one. What cannot be read may hold
// something.
func (l *Loader) findGap(levels *superversion.Levels, first []byte) {
	var limit []byte
	var gap bool
	err := vfs.CatchFaults(func() (err error) {
		limit, gap, err = levels.Gap(first)
		return err
	})
	if err == nil && gap {
		l.place, l.limit = inGap, limit
	}
}

// end completes the run of ascending keys.
func (l *Loader) end() error {
	output, err := l.run.Finish()
	if err != nil {
		return err // Rollback removes the files
	}
	l.run, l.limit = nil, nil
	edit := &manifest.Edit{
		AddValues: output.Values, AddDictionaries: output.Dictionaries,
	}
	if l.place == beyond {
		edit.AddBottom = output.Tables
	} else if len(output.Tables) > 0 {
		edit.AddYoung = []manifest.Run{{Tables: output.Tables}}
	}
	return l.w.adoptRun(edit)
}

// Rollback ends the load and removes what it has written, unless the engine is closed: then the
// next Open does.
func (l *Loader) Rollback() error {
	var err error
	if l.run != nil {
		l.w.engine.whileOpen(func() { err = l.run.Abort() })
		err = errors.Join(err, l.run.Close())
	}
	l.w.Rollback()
	return err
}

// Commit ends the load and makes all of it visible, durably.
func (l *Loader) Commit() error {
	if l.run != nil {
		if err := l.end(); err != nil {
			return errors.Join(err, l.Rollback())
		}
	}
	if err := l.flush(); err != nil {
		return errors.Join(err, l.Rollback())
	}
	return l.w.Commit()
}
