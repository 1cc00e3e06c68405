package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Errors of files.
var (
	// ErrOtherSpace reports a file of another space.
	ErrOtherSpace = errors.New("it has another space")
	// ErrMissing reports a file with entries that follow others, which are not here.
	ErrMissing = errors.New("entries that the file continues are missing here: import an earlier " +
		"file, or one that was exported whole")
)

// Export writes all that this replica has of a space, in a form that [Import] reads: a file to
// carry from one device to another. It seals what was written here before; without a device, or
// if the database is read-only, it exports what is sealed.
//
// What is exported is one state of the database, which keeps it until Export returns.
func Export(ctx context.Context, s *Space, w io.Writer) error {
	return ExportSince(ctx, s, nil, w)
}

// ExportSince is Export without what somebody who has a vector has already: see [ReadVector].
func ExportSince(ctx context.Context, s *Space, since Vector, w io.Writer) error {
	err := s.Seal()
	if err != nil && !errors.Is(err, stoat.ErrReadOnly) && !errors.Is(err, errNoDevice) {
		return err
	}
	err = s.db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		// Others may have sealed more since, so this is what makes all of the snapshot durable.
		if err := s.db.Sync(); err != nil && !errors.Is(err, stoat.ErrReadOnly) {
			return err
		}
		return t.export(ctx, w, since, math.MaxInt)
	})
	return wrap(s.name, err)
}

// export writes a file with what a vector lacks, up to about so many bytes of runs.
func (t *txn) export(ctx context.Context, w io.Writer, since Vector, most int) error {
	f, err := newFrameWriter(w)
	if err == nil {
		err = t.exportAbout(f)
	}
	runs := uint64(0)
	if err == nil {
		runs, err = t.exportRuns(ctx, f, since, most)
	}
	if err == nil {
		err = f.write(fileEnd, binary.AppendUvarint(nil, runs))
	}
	return err
}

// exportAbout writes what the space is and what this replica has of it.
func (t *txn) exportAbout(f *frameWriter) error {
	described, err := t.space.description(t.tx)
	if err != nil {
		return err
	}
	about := wire.AppendBytes(append([]byte{}, t.space.id[:]...), described)
	if err := f.write(fileSpace, about); err != nil {
		return err
	}
	v, err := t.space.Vector(t.tx)
	if err != nil {
		return err
	}
	for _, p := range appendVector(v) {
		if err := f.write(fileHeads, p); err != nil {
			return err
		}
	}
	return nil
}

// exportRuns writes the runs that a vector lacks, up to about so many bytes, and returns their
// number.
func (t *txn) exportRuns(ctx context.Context, f *frameWriter, since Vector, most int) (
	n uint64, err error,
) {
	size := 0
	for r, err := range t.missing(since) {
		if size >= most {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = f.write(fileRun, r.append(nil))
		}
		if err != nil {
			return n, err
		}
		n, size = n+1, size+r.size()
	}
	return n, nil
}

// appendVector returns a vector as the contents of frames.
func appendVector(v Vector) [][]byte {
	logs := make([]LogID, 0, len(v))
	for id := range v {
		logs = append(logs, id)
	}
	slices.SortFunc(logs, func(a, b LogID) int { return bytes.Compare(a[:], b[:]) })
	var frames [][]byte
	for part := range slices.Chunk(logs, fileHeadsMax) {
		p := binary.AppendUvarint(nil, uint64(len(part)))
		for _, id := range part {
			p = binary.AppendUvarint(append(p, id[:]...), v[id])
		}
		frames = append(frames, p)
	}
	return frames
}

// parseVector adds the content of a frame to a vector.
func parseVector(p []byte, v Vector) error {
	r := wire.NewReader(p)
	var before LogID
	for i := range r.Count(fileHeadsMax, 33) {
		id := LogID(r.Hash())
		n := r.Uvarint()
		if n == 0 || i > 0 && bytes.Compare(id[:], before[:]) <= 0 {
			r.Fail("the heads are not sorted, or one is of an empty log")
		}
		if r.Err() != nil {
			break
		}
		v[id], before = n, id
	}
	return r.End()
}

// ReadVector returns which space the file has that r reads, and what the replica that exported it
// has. It reads only the beginning.
func ReadVector(r io.Reader) (SpaceID, Vector, error) {
	f, err := newFrameReader(r)
	if err != nil {
		return SpaceID{}, nil, err
	}
	id, _, err := f.readAbout()
	v := Vector{}
	for err == nil {
		var kind byte
		var p []byte
		if kind, p, err = f.read(); err != nil || kind != fileHeads {
			break
		}
		err = parseVector(p, v)
	}
	return SpaceID(id), v, err
}

// readAbout reads the frame that says which space a file has.
func (f *frameReader) readAbout() (id entry.Hash, described []byte, err error) {
	kind, p, err := f.read()
	if err != nil {
		return id, nil, err
	}
	r := wire.NewReader(p)
	if kind != fileSpace {
		r.Fail("the first frame has the type %d", kind)
	}
	id, described = r.Hash(), r.Bytes(0, helloMax)
	return id, described, r.End()
}

// Import merges what a file of [Export] has, as if it had come from a peer, and makes it durable.
// The errors are [ErrCut] for a file without its end, stoat.ErrCorrupt for one that was damaged,
// [ErrNewer], [ErrOtherSpace], [ErrMissing] for one of [ExportSince] that came too early, and
// [ErrInvalid] for entries that are not valid. What precedes the mistake was merged, and so were
// other logs than those that the error is about; to import a file again does no harm.
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
	refused []error
}

func newIntake(ctx context.Context, s *Space, f *frameReader) *intake {
	return &intake{ctx: ctx, space: s, file: f, ends: map[entry.Hash]uint64{}, theirs: Vector{}}
}

// refusedMax is the most errors about invalid entries that are kept of one file.
const refusedMax = 16

// run merges a file.
func (in *intake) run() error {
	id, described, err := in.file.readAbout()
	if err == nil && id != in.space.id {
		err = fmt.Errorf("%w: join the space %s to import it", ErrOtherSpace, SpaceID(id))
	}
	if err == nil && len(described) > 0 {
		err = in.space.introduce(described)
	}
	if err != nil {
		return err
	}
	for done := false; !done && err == nil; {
		if err = in.ctx.Err(); err == nil {
			done, err = in.next()
		}
	}
	if err := errors.Join(err, in.apply()); err != nil {
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
		have, err := in.space.Vector(tx)
		if err != nil {
			return err
		}
		all, err := in.space.Waiting(tx)
		if err != nil {
			return err
		}
		for _, w := range all {
			if in.ends[entry.Hash(w.Log)] > w.First && !errors.Is(w.Reason, errGap) {
				return w.Reason
			}
		}
		for id, end := range in.ends {
			if have[LogID(id)] >= end {
				continue
			}
			return fmt.Errorf("log %s: %w", id, ErrMissing)
		}
		return nil
	})
}

// next reads a frame; done is true after the last one.
func (in *intake) next() (done bool, err error) {
	kind, p, err := in.file.read()
	if err != nil {
		return false, err
	}
	switch kind {
	case fileHeads:
		return false, parseVector(p, in.theirs)
	case fileRun:
		r, err := parseRun(p)
		if err != nil {
			return false, err
		}
		in.runs, in.size, in.count = append(in.runs, r), in.size+r.size(), in.count+1
		in.ends[r.log] = max(in.ends[r.log], r.end())
		if in.size > batchMax {
			return false, in.apply()
		}
		return false, nil
	case fileEnd:
		rd := wire.NewReader(p)
		if n := rd.Uvarint(); n != in.count {
			rd.Fail("the file should have %d runs, and has %d", n, in.count)
		}
		return true, rd.End()
	}
	return false, fmt.Errorf("a frame of type %d within the file: %w", kind, wire.ErrMalformed)
}

// apply merges the runs that were read.
func (in *intake) apply() error {
	err := in.space.apply(in.runs)
	in.runs, in.size = nil, 0
	if errors.Is(err, ErrInvalid) {
		if len(in.refused) < refusedMax {
			in.refused = append(in.refused, err)
		}
		return nil
	}
	return err
}

// introduce takes the description of the space from others, if it is not known yet.
func (s *Space) introduce(described []byte) error {
	about, err := entry.ParseSpace(described)
	if err == nil && about.ID() != s.id {
		err = invalid("the description of the space")
	}
	if err != nil {
		return err
	}
	return s.describe(described)
}
