package replica

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
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
// carry from one device to another. Whoever has the file can read it, with or without a grant. It
// seals what was written here before; without a device, or if the database is read-only, it exports
// what is sealed.
//
// What is exported is one state of the database, which keeps it until Export returns.
func Export(ctx context.Context, s *Space, w io.Writer) error {
	return ExportSince(ctx, s, nil, w)
}

// ExportSince is Export without the entries of a vector, which the importer has: see [ReadVector].
func ExportSince(ctx context.Context, s *Space, since Vector, w io.Writer) error {
	var err error
	if s.described() != nil {
		if s.device != nil {
			_, _ = s.applyFrom(0, nil) // what cannot be merged is exported as it waits
		}
		err = s.sealOwn()
	}
	if err != nil && !errors.Is(err, stoat.ErrReadOnly) && !errors.Is(err, errNoDevice) {
		return wrap(s.name, err)
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
		return t.export(ctx, w, &parcel{since: since, most: math.MaxInt})
	})
	return wrap(s.name, err)
}

// parcel is what is exported to somebody.
type parcel struct {
	since Vector          // what the importer has
	most  int             // bytes of runs, about
	to    *session.Reader // nil: all that is here, for whoever has the file
}

// export writes a file.
func (t *txn) export(ctx context.Context, w io.Writer, p *parcel) error {
	f, err := newFrameWriter(w)
	if err == nil {
		err = t.exportAbout(f)
	}
	if err == nil && p.to != nil {
		err = t.exportHolds(f)
	}
	since := p.since
	if err == nil && p.to == nil {
		since, err = t.exportCheckpoint(ctx, f, since)
	}
	runs := uint64(0)
	if err == nil {
		runs, err = t.exportRuns(ctx, f, p, since)
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
	gaps, err := t.firstGaps()
	if err != nil {
		return err
	}
	var heads []fileHead
	var proofs [][]byte
	for h, err := range t.eachHead() {
		if err != nil {
			return err
		}
		if n := min(h.sealed, gaps(h)); n > 0 {
			hash, err := t.hashOf(h.number, n-1)
			if err != nil {
				return err
			}
			heads = append(heads, fileHead{LogID(h.id), n, hash})
		}
		if h.cut > 0 {
			p, err := t.proofOf(h)
			if err != nil {
				return err
			}
			proofs = append(proofs, p)
		}
	}
	for _, p := range appendHeads(heads) {
		if err := f.write(fileHeads, p); err != nil {
			return err
		}
	}
	for _, p := range proofs {
		if err := f.write(fileProof, p); err != nil {
			return err
		}
	}
	return nil
}

// exportHolds writes whose content this replica asks for, unless that is everything.
func (t *txn) exportHolds(f *frameWriter) error {
	h, err := t.held()
	if err != nil || h.names == nil {
		return err
	}
	return f.write(fileHolds, h.append(nil))
}

// exportRuns writes the runs that somebody lacks who has a vector, and returns their number. Of a
// log with content that the importer should have and that is not here, it leaves out the rest.
func (t *txn) exportRuns(
	ctx context.Context, f *frameWriter, p *parcel, since Vector,
) (n uint64, err error) {
	size := 0
	lacking := map[entry.Hash]bool{}
	for r, err := range t.runsSince(since) {
		if size >= p.most {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && !lacking[r.log] {
			err = t.withhold(r, p.to)
			lacking[r.log] = errors.Is(err, session.ErrLacking)
		}
		if r != nil && lacking[r.log] {
			continue
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

// fileHead is what an exporter has of a log.
type fileHead struct {
	log     LogID
	entries uint64
	hash    entry.Hash // of the last one
}

// appendHeads returns heads as the contents of frames.
func appendHeads(heads []fileHead) [][]byte {
	slices.SortFunc(heads, func(a, b fileHead) int { return bytes.Compare(a.log[:], b.log[:]) })
	var frames [][]byte
	for part := range slices.Chunk(heads, fileHeadsMax) {
		p := binary.AppendUvarint(nil, uint64(len(part)))
		for _, h := range part {
			p = binary.AppendUvarint(append(p, h.log[:]...), h.entries)
			p = append(p, h.hash[:]...)
		}
		frames = append(frames, p)
	}
	return frames
}

// parseHeads decodes the content of a frame of heads.
func parseHeads(p []byte) (heads []fileHead, err error) {
	r := wire.NewReader(p)
	heads = make([]fileHead, r.Count(fileHeadsMax, 32+1+32))
	for i := range heads {
		h := &heads[i]
		h.log, h.entries, h.hash = LogID(r.Hash()), r.Uvarint(), r.Hash()
		if h.entries == 0 || i > 0 && bytes.Compare(h.log[:], heads[i-1].log[:]) <= 0 {
			r.Fail("the heads are not sorted, or one is of an empty log")
		}
	}
	return heads, r.End()
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
		var heads []fileHead
		heads, err = parseHeads(p)
		for _, h := range heads {
			v[h.log] = h.entries
		}
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
