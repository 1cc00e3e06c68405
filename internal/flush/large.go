package flush

import (
	"iter"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/valuelog"
)

const (
	// largeShare of the bytes of a run, as a divisor, are enough large values to compress the run
	// before a compaction does.
	largeShare = 4
	// cheapShare of the bytes of large values, as a divisor, may be what there is to compress for
	// that to cost next to nothing.
	cheapShare = 8
)

// valueSizes is how many bytes of values there are.
type valueSizes struct {
	compressible uint64 // large values that are compressed in tables
	stiff        uint64 // large values that do not compress, and lie outside of tables
	small        uint64
}

func sizesOf(puts iter.Seq2[[]byte, []byte], v *run.Values) (s valueSizes) {
	for _, value := range puts {
		switch n := uint64(len(value)); {
		case v.Separate <= 0 || len(value) < v.Separate:
			s.small += n
		case v.Shrink && run.Shrinks(value):
			s.compressible += n
		default:
			s.stiff += n
		}
	}
	return s
}

// valuePlan is what becomes of the values of a run.
type valuePlan struct {
	compress  bool // the run is compressed
	inLog     bool // large values stay in the log segment: those that do not compress, or all
	deferring bool // all of them do
	mayDefer  bool // ask on the way whether to defer the rest
}

// plan decides about the values of a run that is likely to stay, or not. If there is no time to
// compress large values, they are deferred, provided that they are worth keeping the log segment.
// Otherwise the run is compressed if the options say so for such runs, or if it has enough large
// values: compactions copy their blocks as they are.
func (j Job) plan(s valueSizes, stays bool) valuePlan {
	large := s.compressible + s.stiff
	cheap := large > 0 && s.compressible+s.small <= large/cheapShare
	noTime := !cheap && j.Defer != nil && j.Defer(stays)
	if noTime && s.compressible > 0 && j.worthKeepingLog(large) {
		return valuePlan{inLog: true, deferring: true}
	}
	manyLarge := large > 0 && (cheap || !noTime && large >= (large+s.small)/largeShare)
	compress := j.CompressYoung || j.CompressBottom && (stays || manyLarge)
	return valuePlan{
		compress: compress, inLog: j.worthKeepingLog(s.stiff), mayDefer: compress && !stays && !cheap,
	}
}

// worthKeepingLog reports whether the given number of bytes of values is worth keeping the log
// segment.
func (j Job) worthKeepingLog(bytes uint64) bool {
	return j.Log.Number != 0 && bytes > 0 && bytes >= j.Log.Size/2
}

// largeValues follows the plan for each value of a run.
type largeValues struct {
	valuePlan
	job     Job
	config  *run.Config
	left    uint64 // bytes of large values that are to be compressed
	pointer [valuelog.PointerBytes]byte
}

// entry returns the cursor's entry, as w is to write it. Its value is valid until the next call.
func (l *largeValues) entry(c *memtable.Cursor, w *run.Writer) (keyspace.Entry, error) {
	e := keyspace.Entry{Kind: c.Kind()}
	if e.Kind == keyspace.KindDelete {
		return e, nil // the cursor's value may be the deleted one
	}
	e.Value, e.Until = c.Value(), c.Until()
	least := l.config.Values.Separate
	if e.Kind != keyspace.KindPut || least <= 0 || len(e.Value) < least {
		return e, nil
	}
	outside := l.deferring || l.config.Outside(e.Value)
	if !outside && l.defersFrom(len(e.Value)) {
		if err := w.StopCompressing(l.job.Reach); err != nil {
			return e, err
		}
		l.deferring, l.inLog, outside = true, true, true
	}
	if !outside || !l.inLog {
		return e, nil
	}
	if offset, ok := c.LogOffset(); ok {
		p := valuelog.NewPointer(l.job.Log.Number, uint64(offset), e.Value)
		e.Kind, e.Value = keyspace.KindPointer, p.Append(l.pointer[:0])
	}
	return e, nil
}

// defersFrom counts a large value that compresses, and reports whether to defer it and all further
// ones.
func (l *largeValues) defersFrom(bytes int) bool {
	left := l.left
	l.left -= min(left, uint64(bytes))
	return l.mayDefer && l.job.worthKeepingLog(left) && l.job.Defer != nil &&
		l.job.Defer(amongOthers.stays())
}
