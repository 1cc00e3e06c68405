package flush

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/valuelog"
)

const (
	// largeShare of the bytes of a run, as a divisor, are enough large values to have it compressed
	// before a compaction does it.
	largeShare = 4
	// cheapShare of the bytes of large values, as a divisor, may be what there is to compress for
	// that to cost nothing.
	cheapShare = 8
)

// tally is how many bytes of values there are of each sort.
type tally struct {
	shrink uint64 // large values that are compressed in tables
	stiff  uint64 // large values that are not, and lie outside of them
	small  uint64
}

// tallyOf returns the tally of values.
func tallyOf(values iter.Seq[[]byte], v *run.Values) (t tally) {
	for value := range values {
		switch n := uint64(len(value)); {
		case v.Separate <= 0 || len(value) < v.Separate:
			t.small += n
		case v.Shrink && run.Shrinks(value):
			t.shrink += n
		default:
			t.stiff += n
		}
	}
	return t
}

// tally returns that of the memtable.
func (j Job) tally() tally {
	return tallyOf(func(yield func([]byte) bool) {
		var c memtable.Cursor
		c.Init(j.Root)
		for ok := c.First(); ok; ok = c.Next() {
			if c.Kind() == keyspace.KindPut && !yield(c.Value()) {
				return
			}
		}
	}, &j.Output.Values)
}

// decision is what becomes of the values of a run.
type decision struct {
	compress bool // the run is compressed
	inLog    bool // large values stay in the log segment: all, or those that do not shrink
	leave    bool // all of them do
	ask      bool // whether that changes on the way
}

// decide decides about the values of a run that is likely to stay, or not.
func (j Job) decide(t tally, stays bool) decision {
	large := t.shrink + t.stiff
	cheap := large > 0 && t.shrink+t.small <= large/cheapShare
	hurried := !cheap && j.Leave != nil && j.Leave(stays, t.shrink)
	if hurried && t.shrink > 0 && j.worth(large) {
		return decision{inLog: true, leave: true}
	}
	compress := j.CompressYoung || stays && j.CompressBottom || j.CompressLarge && large > 0 &&
		(cheap || !hurried && large >= (large+t.small)/largeShare)
	return decision{compress: compress, inLog: j.worth(t.stiff), ask: compress && !stays && !cheap}
}

// worth reports whether so many bytes of large values are worth to keep the log segment for them.
func (j Job) worth(bytes uint64) bool {
	return j.Output.Values.Separate > 0 && j.Log.Number != 0 && bytes >= j.Log.Size/2
}

// values decides where each large value stays.
type values struct {
	decision
	job     *Job
	config  *run.Config
	left    tally
	pointer [valuelog.PointerBytes]byte
}

func (j *Job) values(c *run.Config, d decision, t tally) *values {
	return &values{decision: d, job: j, config: c, left: t}
}

// entry returns the current entry for the table, which w will write. Its value is valid until the
// next call.
func (v *values) entry(c *memtable.Cursor, w *run.Writer) (keyspace.Entry, error) {
	e := keyspace.Entry{Kind: c.Kind()}
	if e.Kind == keyspace.KindDelete {
		return e, nil // what the cursor has of it otherwise may be what was deleted
	}
	e.Value, e.Until = c.Value(), c.Until()
	least := v.config.Values.Separate
	if e.Kind != keyspace.KindPut || least <= 0 || len(e.Value) < least {
		return e, nil
	}
	outside := v.leave || v.config.Outside(e.Value)
	if !outside && v.hurried(len(e.Value)) {
		if err := w.Uncompressed(v.job.Reach); err != nil {
			return e, err
		}
		v.leave, v.inLog, outside = true, true, true
	}
	if !outside || !v.inLog {
		return e, nil
	}
	if offset, ok := c.LogOffset(); ok {
		p := valuelog.NewPointer(v.job.Log.Number, uint64(offset), e.Value)
		e.Kind, e.Value = keyspace.KindPointer, p.Append(v.pointer[:0])
	}
	return e, nil
}

// hurried counts a large value that shrinks, and reports whether it and those behind it are to be
// left in the log after all.
func (v *values) hurried(bytes int) bool {
	left := v.left.shrink
	v.left.shrink -= min(left, uint64(bytes))
	return v.ask && v.job.worth(left) && v.job.Leave != nil && v.job.Leave(false, left)
}
