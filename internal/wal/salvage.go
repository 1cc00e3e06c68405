package wal

import (
	"errors"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// triesMax limits how many times the file's length is read for frames whose headers are valid but
// whose payloads are not. Only a forged file needs more.
const triesMax = 8

// Damage describes what [Salvage] found in a segment besides whole transactions.
type Damage struct {
	Gaps  int   // runs of bytes that hold no valid frame and are followed by one that does
	First int64 // the offset of the first gap
	Bytes int64 // in all gaps
	Tail  int64 // bytes after the last valid frame, without trailing zeros: damaged, or cut off

	Unread  int64 // bytes that could not be read, including those counted above
	Hole    int64 // the offset of the first of them
	HoleErr error // why it could not be read
}

// Salvage calls fn with each whole transaction of a segment, in order, as [Replay] does, but
// continues after damage: gaps in the numbers show which transactions are missing. Bytes that the
// disk cannot return are damage, too, and read as zeros. The file header is ignored. An error from
// fn stops Salvage, which returns it.
func Salvage(
	fs vfs.ReadOnly, dir string, number uint64, database [16]byte,
	fn func(commit uint64, payloads []Payload) error,
) (d Damage, err error) {
	r, err := openReplay(fs, dir, number, database)
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, r.file.Close()) }()
	s := &salvage{replay: *r, disk: vfs.NewPatient(r.file), budget: triesMax * r.size}
	s.file = s.disk
	err = s.run(fn)
	if holes := s.disk.Holes(); len(holes) > 0 {
		s.damage.Unread = s.disk.Unread(0, s.size)
		s.damage.Hole, s.damage.HoleErr = holes[0].At, holes[0].Err
	}
	return s.damage, err
}

// salvage is the state of reading a segment that may be damaged.
type salvage struct {
	replay
	disk   *vfs.Patient // the replay's file
	damage Damage
	budget int64 // bytes of payload that seeking may still read
}

// run reads the segment frame by frame and skips what lies between plausible frames.
func (s *salvage) run(fn func(commit uint64, payloads []Payload) error) error {
	for at := int64(fileheader.Size); at < s.size; {
		h, ok, err := s.read(at)
		switch {
		case err != nil:
		case ok && s.plausible(h, at):
			err = s.take(h, at, fn)
			at = h.end(at)
		default:
			at, err = s.skip(at)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// plausible reports whether the log could have written a valid frame at the offset at.
func (s *salvage) plausible(h frameHeader, at int64) bool {
	return h.kind.valid() && h.synced <= uint64(at) && h.commit != 0 && h.commit >= s.next
}

// take adds the frame at the offset at to its transaction and, if it ends a whole one, calls fn.
func (s *salvage) take(
	h frameHeader, at int64, fn func(commit uint64, payloads []Payload) error,
) error {
	if h.commit != s.next {
		s.open = false // an older transaction, whose last frame is lost
	}
	s.next = h.commit
	if !s.open && !h.kind.starts() {
		return nil // the first frame is lost
	}
	s.add(h, at)
	if h.kind.ends() {
		return s.commit(h.commit, h.end(at), fn)
	}
	return nil
}

// skip returns the offset of the first plausible frame after the offset at, or the file's size if
// none follows. It records the damage in between.
func (s *salvage) skip(at int64) (next int64, err error) {
	s.open = false
	next, err = s.seek(at+1, s.accept)
	if err != nil {
		return 0, err
	}
	if next == s.size {
		end, err := s.dataEnd(at, s.size)
		if holes := s.disk.Holes(); len(holes) > 0 {
			end = max(end, holes[len(holes)-1].End)
		}
		s.damage.Tail = end - at
		return next, err
	}
	if s.damage.Gaps == 0 {
		s.damage.First = at
	}
	s.damage.Gaps++
	s.damage.Bytes += next - at
	return next, nil
}

// accept reports whether the frame at the offset at, whose header is valid, is valid as a whole and
// plausible. It reads the payload only if the budget allows.
func (s *salvage) accept(h frameHeader, at int64) (bool, error) {
	length := int64(h.length)
	if !h.kind.valid() || length > s.size-at-HeaderBytes || length > s.budget {
		return false, nil
	}
	s.budget -= length
	h, ok, err := s.read(at)
	return ok && s.plausible(h, at), err
}
