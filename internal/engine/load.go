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

// Loader is a write transaction that goes straight to tables, past log and memtable. It holds the
// writer lock until Commit or Rollback, exactly one of which must be called. Not safe for
// concurrent use.
//
// It has two modes. While keys ascend, each pair goes to the table that is being written (see
// [ascent]). At the first key that does not ascend, it changes for good to sorting: it collects
// pairs in memory, and when there are enough, a job in the background sorts them and writes them as
// a run, while the next are collected. Either way the runs are part of the [spill] of a [Writer],
// which commits them with one edit of the manifest.
type Loader struct {
	w       *Writer
	ascent  *ascent // nil before the first key, and while sorting
	last    []byte  // the newest key of the ascent
	narrow  bool    // the gap of the ascent before took few keys
	sorting bool
	filling *sorter.Sorter // collects pairs
	written *sorter.Sorter // is being written, or was; the next to collect pairs
}

// ascent is a run of ascending keys, written as they come. If it lies between two neighbouring keys
// of the database, or above all, no compaction has to write it again: it is written as the bottom
// run is, and ends before the keys of others.
type ascent struct {
	run   *run.Writer
	place place
	limit []byte // of inGap: the key before which the gap ends; nil if it does not
	bytes uint64 // of keys and values
}

// place says where the keys of an ascent lie among those of the database.
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
	return &Loader{w: w, filling: new(sorter.Sorter), written: new(sorter.Sorter)}, nil
}

// Writer returns the transaction of the load, for what is written beside the pairs, under other
// keys.
func (l *Loader) Writer() *Writer { return l.w }

// Put sets key to value. Both are copied.
func (l *Loader) Put(key, value []byte) error { return l.orClosed(l.put(key, value)) }

// orClosed returns the error, or ErrClosed if there is one and the folder is, or may be, closed.
func (l *Loader) orClosed(err error) error {
	if err != nil && l.w.Closed() {
		return ErrClosed
	}
	return err
}

func (l *Loader) put(key, value []byte) error {
	if err := l.w.engine.writable(); err != nil {
		return err
	}
	l.w.bytes += uint64(len(key) + len(value))
	switch {
	case l.sorting:
		return l.sort(key, value)
	case l.ascent == nil:
		if err := l.begin(key); err != nil {
			return err
		}
	case bytes.Compare(key, l.last) <= 0:
		if err := l.end(); err != nil {
			return err
		}
		l.sorting = true
		return l.sort(key, value)
	case l.ascent.endsBefore(key):
		small := compaction.Small(l.w.engine.options.Tuning.TableBytes)
		l.narrow = l.ascent.place == inGap && l.ascent.bytes < small
		if err := l.end(); err != nil {
			return err
		}
		if err := l.begin(key); err != nil {
			return err
		}
	}
	l.last = append(l.last[:0], key...)
	return l.ascent.add(key, value)
}

// begin starts an ascent with its first key. After a gap that took few keys, it looks for no other
// gap until a table is complete: a run for each of many small gaps would cost too much.
func (l *Loader) begin(first []byte) error {
	if err := l.w.spill.wait(); err != nil {
		return err
	}
	levels := l.w.spill.levels
	a := new(ascent)
	if levels.Above(first) {
		a.place = beyond
	} else if !l.narrow {
		a.findGap(levels, first)
	}
	job := l.w.engine.flushJob(sealed{}, levels, forNow)
	a.run = run.NewWriter(job.Config(a.place != among, nil))
	l.ascent, l.narrow = a, false
	return nil
}

// findGap sets the place of an ascent if its first key lies in a gap. What cannot be read may hold
// something.
func (a *ascent) findGap(levels *superversion.Levels, first []byte) {
	var limit []byte
	var gap bool
	err := vfs.CatchFaults(func() (err error) {
		limit, gap, err = levels.Gap(first)
		return err
	})
	if err == nil && gap {
		a.place, a.limit = inGap, limit
	}
}

// endsBefore reports whether key, which ascends, belongs to another ascent: because the gap ends
// before it, or because a table is complete and the next may lie in a gap.
func (a *ascent) endsBefore(key []byte) bool {
	if a.place == among {
		return a.run.Files() > 0
	}
	return a.limit != nil && bytes.Compare(key, a.limit) >= 0
}

func (a *ascent) add(key, value []byte) error {
	a.bytes += uint64(len(key) + len(value))
	return a.run.Add(key, keyspace.Entry{Kind: keyspace.KindPut, Value: value})
}

// end completes the ascent, if there is one, and makes it part of the transaction.
func (l *Loader) end() error {
	if l.ascent == nil {
		return nil
	}
	output, err := l.ascent.run.Finish()
	if err != nil {
		return err // Rollback removes the files
	}
	edit := &manifest.Edit{AddValues: output.Values, AddDictionaries: output.Dictionaries}
	if l.ascent.place == beyond {
		edit.AddBottom = output.Tables
	} else if len(output.Tables) > 0 {
		edit.AddYoung = []manifest.Run{{Tables: output.Tables}}
	}
	l.ascent = nil
	return l.w.addRun(edit)
}

// sort collects a pair, and has those collected so far written if that is due.
func (l *Loader) sort(key, value []byte) error {
	if !l.filling.Fits(len(key), len(value)) {
		if err := l.writeSorted(); err != nil {
			return err
		}
	}
	l.filling.Add(key, value)
	if l.filling.Bytes() < l.w.engine.options.Tuning.SpillBytes {
		return nil
	}
	return l.writeSorted()
}

// writeSorted has the collected pairs, if any, sorted and written in the background.
func (l *Loader) writeSorted() error {
	if l.filling.Len() == 0 {
		return nil
	}
	if err := l.w.spill.wait(); err != nil {
		return err
	}
	l.filling, l.written = l.written, l.filling
	l.filling.Reset()
	return l.w.spill.flushSorted(l.written)
}

// Rollback ends the load and removes what it has written, unless the engine is closed: then the
// next Open does.
func (l *Loader) Rollback() error {
	var err error
	if l.ascent != nil {
		l.w.engine.whileOpen(func() { err = l.ascent.run.Abort() })
		err = errors.Join(err, l.ascent.run.Close())
	}
	l.w.Rollback()
	return err
}

// Commit ends the load and makes all of it visible, durably.
func (l *Loader) Commit() error {
	err := l.end()
	if err == nil {
		err = l.writeSorted()
	}
	if err != nil {
		return errors.Join(l.orClosed(err), l.Rollback())
	}
	return l.w.Commit()
}
