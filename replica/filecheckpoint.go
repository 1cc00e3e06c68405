package replica

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// exportCheckpoint writes the checkpoint and its state if entries were pruned that an importer with
// a vector lacks. It returns what the importer has then.
func (t *txn) exportCheckpoint(ctx context.Context, f *frameWriter, since Vector) (Vector, error) {
	needed, err := t.lacksPruned(since)
	if err != nil || !needed {
		return since, err
	}
	o, err := t.offering()
	if err == nil && o == nil {
		err = fmt.Errorf("%w: no checkpoint can be exported here", ErrPruned)
	}
	if err == nil {
		err = t.exportOffer(f, o)
	}
	if err == nil {
		err = t.exportChunks(ctx, f, o)
	}
	if err != nil {
		return nil, err
	}
	after := maps.Clone(since)
	if after == nil {
		after = Vector{}
	}
	for i := range o.act.Logs {
		l := &o.act.Logs[i]
		after[LogID(l.Log)] = max(after[LogID(l.Log)], l.Count)
	}
	return after, nil
}

// exportOffer writes what the checkpoint is, and by whom.
func (t *txn) exportOffer(f *frameWriter, o *offer) error {
	given, err := t.give(o)
	if err != nil {
		return err
	}
	p := given.Append(nil)
	if len(p) > t.space.offerMax {
		return fmt.Errorf("%w: %w", ErrPruned, errOfferSize)
	}
	return f.write(fileCheckpoint, p)
}

// exportChunks writes the state at the checkpoint.
func (t *txn) exportChunks(ctx context.Context, f *frameWriter, o *offer) error {
	var buf []byte
	for i := range o.trees {
		for n := o.act.Unchunked(i); n < len(o.trees[i].leaves); n++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			content, err := t.chunk(o, i, n)
			if err != nil {
				return err
			}
			g := session.Given{ChunkID: session.ChunkID{Tree: i, N: n}}
			if g.Form, err = chunk.Pack(content); err != nil {
				return err
			}
			buf = g.Append(buf[:0])
			if err := f.write(fileChunk, buf); err != nil {
				return err
			}
		}
	}
	return nil
}

// lacksPruned reports whether entries were pruned here that somebody with a vector lacks.
func (t *txn) lacksPruned(since Vector) (bool, error) {
	if err := t.unpruned(); !errors.Is(err, ErrPruned) {
		return false, err
	}
	for h, err := range t.eachHead() {
		if err != nil {
			return false, err
		}
		first := since[LogID(h.id)]
		if first >= h.sealed {
			continue
		}
		if _, err = t.runFrom(h, first); errors.Is(err, ErrPruned) {
			return true, nil
		} else if err != nil {
			return false, err
		}
	}
	return false, nil
}

// fileStart is a start from the checkpoint of a file.
type fileStart struct {
	start  *start
	trees  []chunk.Tree             // of the offer
	lacks  map[session.ChunkID]bool // nil: this replica does not need the checkpoint
	chunks []chunk.Packed           // that are not stored yet
	size   int                      // of these
	opens  chunk.Unpacker
}

// stageBytes is how many bytes of chunks are stored together.
const stageBytes = 1 << 20

// begin begins a start from the checkpoint of the file, unless this replica has all that it covers.
func (in *intake) begin(p []byte) error {
	if in.start != nil || in.count > 0 {
		return fmt.Errorf("a checkpoint behind runs or another one: %w", wire.ErrMalformed)
	}
	offer, err := session.ParseOffer(p)
	if err != nil {
		return err
	}
	in.start = &fileStart{trees: offer.Trees}
	st, err := in.space.begin(offer, in.space.check)
	if err != nil {
		return err
	}
	needed, err := in.space.lacksCovered(st)
	if err != nil || !needed {
		return err
	}
	st.trees = offer.Trees // all of them
	in.start.start = st
	lacks, reason, err := endpoint{in.space}.beginStart(st, DeviceID{})
	if reason != nil {
		err = fmt.Errorf("%w: %w", ErrPruned, reason)
	}
	if err != nil {
		return err
	}
	in.start.lacks = map[session.ChunkID]bool{}
	for _, id := range lacks {
		in.start.lacks[id] = true
	}
	return in.install()
}

// lacksCovered reports whether this replica lacks entries that the checkpoint of an offer covers,
// or the state there of collections that it wants. It leaves these subtrees of the start.
func (s *Space) lacksCovered(st *start) (lacks bool, err error) {
	err = endpoint{s}.view(func(t *txn) error {
		if lacks, err = t.lacksCovered(st.act); err != nil || !lacks {
			return err
		}
		lacks, err = t.choose(st)
		return err
	})
	return lacks, err
}

// takeChunk takes a chunk of the file's checkpoint.
func (in *intake) takeChunk(p []byte) error {
	st := in.start
	if st == nil || in.count > 0 {
		return fmt.Errorf("a chunk without its checkpoint: %w", wire.ErrMalformed)
	}
	g, err := session.ParseGiven(p)
	if err != nil {
		return err
	}
	if g.Tree >= len(st.trees) || g.N >= len(st.trees[g.Tree]) ||
		!st.opens.Is(g.Form, st.trees[g.Tree][g.N]) {
		return invalid("a chunk of the file is not of its checkpoint")
	}
	if !st.lacks[g.ChunkID] {
		return nil
	}
	delete(st.lacks, g.ChunkID)
	next := chunk.Packed{Leaf: st.trees[g.Tree][g.N], Form: g.Form}
	st.chunks, st.size = append(st.chunks, next), st.size+len(g.Form)
	if st.size >= stageBytes || len(st.lacks) == 0 {
		err = in.stage()
	}
	if err != nil {
		return err
	}
	return in.install()
}

// stage stores the chunks that were read. They are kept if the file is cut behind them.
func (in *intake) stage() error {
	st := in.start
	if st == nil || len(st.chunks) == 0 {
		return nil
	}
	err := endpoint{in.space}.Stage(st.chunks)
	st.chunks, st.size = nil, 0
	return err
}

// install makes the state of the checkpoint that of this replica, if it has all chunks.
func (in *intake) install() error {
	if len(in.start.lacks) > 0 {
		return nil
	}
	return in.space.installAll(0, in.start.start)
}

// started returns an error if chunks are missing of the checkpoint with which the file begins.
func (in *intake) started() error {
	if in.start != nil && len(in.start.lacks) > 0 {
		return invalid("the file lacks %d chunks of its checkpoint", len(in.start.lacks))
	}
	return nil
}
