package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Import merges what a file of [Export] has, as if it had come from a peer, and makes it durable.
// The errors are [ErrCut] for a file without its end, stoat.ErrCorrupt for one that was damaged,
// [ErrNewer], [ErrOtherSpace], [ErrMissing] for one of [ExportSince] that came too early, and
// [ErrInvalid] for entries that are not valid. What precedes the mistake was merged, and so were
// other logs than those that the error is about; to import a file again does no harm.
//
// A file with a checkpoint makes a replica start from it that lacks entries which it covers: at
// once, after all of the state was read and verified. Of a file that is cut within the state, what
// was read is kept aside, and used when the file is imported again. It is [ErrPruned] if this
// replica cannot start from the checkpoint.
func Import(ctx context.Context, s *Space, r io.Reader) error {
	f, err := newFrameReader(r)
	if err == nil {
		err = newIntake(ctx, s, f).run()
	}
	if err != nil {
		return wrap(s.name, err)
	}
	return wrap(s.name, s.db.Sync())
}

// intake is a file on its way into a replica.
type intake struct {
	ctx     context.Context
	space   *Space
	file    *frameReader
	runs    []*run                // that are not merged yet
	size    int                   // of runs
	count   uint64                // runs in the file so far
	ends    map[entry.Hash]uint64 // of the logs in the file so far
	theirs  Vector                // what the exporter has
	from    session.Reader        // the exporter, if it has proven who it is, and what it asks for
	start   *fileStart            // from the file's checkpoint; nil: it has none so far
	refused []error
}

func newIntake(ctx context.Context, s *Space, f *frameReader) *intake {
	return &intake{ctx: ctx, space: s, file: f, ends: map[entry.Hash]uint64{}, theirs: Vector{},
		from: session.Reader{All: true}}
}

// refusedMax is how many reasons are kept why something of a file is not taken.
const refusedMax = 16

// run merges a file.
func (in *intake) run() error {
	id, described, err := in.file.readAbout()
	if err != nil {
		return err
	}
	return in.runBehind(id, described)
}

// runBehind merges a file behind the frame that says which space it has.
func (in *intake) runBehind(id entry.Hash, described []byte) (err error) {
	if id != in.space.id {
		err = fmt.Errorf("%w: join the space %s to import it", ErrOtherSpace, SpaceID(id))
	}
	if err == nil && len(described) > 0 {
		err = in.space.describe(described)
	}
	if err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		if err = in.ctx.Err(); err == nil {
			done, err = in.next()
		}
	}
	if err := errors.Join(err, in.stage(), in.apply()); err != nil {
		return err
	}
	if len(in.refused) > 0 {
		return errors.Join(in.refused...)
	}
	return in.complete()
}

// complete returns an error if something that the file had is not merged.
func (in *intake) complete() error {
	return in.space.db.View(func(tx *stoat.Tx) error {
		all, err := in.space.allWaiting(tx)
		if err != nil {
			return err
		}
		for _, w := range all {
			switch {
			case in.ends[entry.Hash(w.Log)] <= w.First || errors.Is(w.Reason, errGap):
			case lackedBy(w.Reason) != nil:
				return fmt.Errorf("%w: %w", w.Reason, ErrMissing)
			default:
				return w.Reason
			}
		}
		t, err := in.space.in(tx)
		for id, end := range in.ends {
			if err == nil {
				err = t.reaches(id, end)
			}
		}
		return err
	})
}

// reaches returns ErrMissing unless a log is here up to an end, or up to where it is cut.
func (t *txn) reaches(id entry.Hash, end uint64) error {
	number, known, err := t.logNumber(id)
	if err != nil {
		return err
	}
	sealed := uint64(0)
	if known {
		h, err := t.head(number)
		if err != nil {
			return err
		}
		if sealed = h.sealed; h.cut > 0 {
			end = min(end, h.cut)
		}
	}
	if sealed < end {
		return fmt.Errorf("log %s: %w", id, ErrMissing)
	}
	return nil
}

// next reads a frame; done is true after the last one.
func (in *intake) next() (done bool, err error) {
	kind, p, err := in.file.read()
	if err != nil {
		return false, err
	}
	switch kind {
	case fileHeads:
		heads, err := parseHeads(p)
		if err != nil {
			return false, err
		}
		return false, in.compare(heads)
	case fileProof:
		err := endpoint{in.space}.Prove(p)
		if errors.Is(err, ErrInvalid) {
			in.refuse(err)
			err = nil
		}
		return false, err
	case fileHolds:
		return false, in.asks(p)
	case fileCheckpoint:
		return false, in.begin(p)
	case fileChunk:
		return false, in.takeChunk(p)
	case fileRun:
		r, err := parseRun(p)
		if err == nil {
			err = in.started()
		}
		if err != nil {
			return false, err
		}
		r.from = in.from.Device
		in.runs, in.size, in.count = append(in.runs, r), in.size+r.size(), in.count+1
		in.ends[r.log] = max(in.ends[r.log], r.end())
		if in.size > mergeMax {
			return false, in.apply()
		}
		return false, nil
	case fileEnd:
		rd := wire.NewReader(p)
		if n := rd.Uvarint(); n != in.count {
			rd.Fail("the file should have %d runs, and has %d", n, in.count)
		}
		return true, cmp.Or(rd.End(), in.started())
	}
	return false, fmt.Errorf("a frame of type %d within the file: %w", kind, wire.ErrMalformed)
}

// asks notes whose content the exporter asks for.
func (in *intake) asks(p []byte) error {
	h, err := parseHoldings(p)
	if err != nil {
		return err
	}
	in.from.All, in.from.Collections = false, map[string]bool{}
	for _, name := range h.names {
		in.from.Collections[name] = true
	}
	return nil
}

// apply merges the runs that were read.
func (in *intake) apply() error {
	refusals, err := in.space.applyFrom(0, in.runs)
	in.runs, in.size = nil, 0
	for i := range refusals {
		in.refuse(refusals[i].Reason)
	}
	return err
}

// refuse remembers why something is not taken, unless it is why something else is not.
func (in *intake) refuse(err error) {
	same := func(other error) bool { return other.Error() == err.Error() }
	if len(in.refused) < refusedMax && !slices.ContainsFunc(in.refused, same) {
		in.refused = append(in.refused, err)
	}
}

// compareLog compares a head with the log that is here.
func (in *intake) compareLog(t *txn, number uint32, h *fileHead) error {
	own, err := t.head(number)
	if err != nil || own.cut > 0 || own.next < h.entries {
		return err
	}
	hash, err := t.hashOf(number, h.entries-1)
	if errors.Is(err, ErrPruned) {
		return nil // it cannot be compared any more
	}
	if err == nil && hash != h.hash {
		in.theirs[h.log] = 0
	}
	return err
}

// compare notes what the exporter has. Of a log with another branch, that is nothing: to be given
// all of this one, the exporter finds where they part.
func (in *intake) compare(heads []fileHead) error {
	return in.space.db.View(func(tx *stoat.Tx) error {
		t, err := in.space.in(tx)
		if err != nil {
			return err
		}
		for _, h := range heads {
			in.theirs[h.log] = h.entries
			number, known, err := t.logNumber(entry.Hash(h.log))
			if err == nil && known {
				err = in.compareLog(t, number, &h)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}
