package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// triesMax bounds how often the length of the file is read for frames whose headers are valid and
// whose payloads are not: more than that is no accident.
const triesMax = 8

// Damage is what [Salvage] found in a segment besides whole transactions.
type Damage struct {
	Places int   // with bytes that are no valid frame, behind which there are more
	First  int64 // the offset of the first of them
	Bytes  int64 // in them
	Tail   int64 // bytes at the end that are no valid frame, without zeros: damaged, or cut off

	Unread  int64 // bytes, also among those above, that could not be read
	Hole    int64 // the offset of the first of them
	HoleErr error // why it could not be
}

// Salvage calls fn with each whole transaction of a segment, in order, as [Replay] does, and goes
// on behind damage: transactions may be missing in between, which shows in their numbers. What the
// disk does not give is damage like other, and reads as zeros. The header of the file is not looked
// at. After an error of fn it stops.
func Salvage(
	fs vfs.ReadOnly, dir string, number uint64, database [16]byte,
	fn func(commit uint64, payloads []Payload) error,
) (d Damage, err error) {
	path := filepath.Join(dir, folder.Log.Name(number))
	file, err := fs.Open(path)
	if err != nil {
		return d, fmt.Errorf("open log %06d: %w", number, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return d, fmt.Errorf("open log %06d: %w", number, err)
	}
	seed := fileheader.New(fileheader.Log, number, database).Seed()
	patient := vfs.NewPatient(file)
	s := &salvage{
		replay: replay{window: window{file: patient, name: path, size: size}, seed: seed},
		file:   patient,
		budget: triesMax * size,
	}
	err = s.run(fn)
	if holes := patient.Holes(); len(holes) > 0 {
		s.damage.Unread = patient.Unread(0, size)
		s.damage.Hole, s.damage.HoleErr = holes[0].At, holes[0].Err
	}
	return s.damage, err
}

// salvage is the state of reading a segment that may be damaged.
type salvage struct {
	replay
	file   *vfs.Patient
	damage Damage
	budget int64 // so many bytes may still be read in vain
}

func (s *salvage) run(fn func(commit uint64, payloads []Payload) error) error {
	for at := int64(fileheader.Size); at < s.size; {
		h, ok, err := s.read(at)
		if err != nil {
			return err
		}
		if ok && s.possible(h, at) {
			if at, err = s.take(h, at, fn); err != nil {
				return err
			}
			continue
		}
		s.open = false
		next, found, err := s.find(at)
		if err != nil || !found {
			return err
		}
		if s.damage.Places == 0 {
			s.damage.First = at
		}
		s.damage.Places++
		s.damage.Bytes += next - at
		at = next
	}
	return nil
}

// possible reports whether a valid frame is one that can be written at this place.
func (s *salvage) possible(h frameHeader, at int64) bool {
	return h.kind.valid() && h.synced <= uint64(at) && h.commit != 0 && h.commit >= s.next
}

// take takes the frame at the offset at and, if it ends a whole transaction, hands that over. It
// returns where the next frame starts.
func (s *salvage) take(
	h frameHeader, at int64, fn func(commit uint64, payloads []Payload) error,
) (next int64, err error) {
	payload := at + HeaderBytes
	next = payload + int64(h.length)
	switch {
	case h.kind.starts():
		s.open, s.start, s.spans = true, at, s.spans[:0]
	case h.commit != s.next:
		s.open = false // its start is that of another
	}
	s.next = h.commit
	if !s.open {
		return next, nil
	}
	s.spans = append(s.spans, span{payload, next})
	if h.kind.ends() {
		err = s.commit(h.commit, next, fn)
	}
	return next, err
}

// find looks for the next valid frame behind the offset at. If there is none, it notes how much of
// the rest is not zeros, or is not known to be.
func (s *salvage) find(at int64) (next int64, found bool, err error) {
	end := at // of the last byte that is not zero
	for from := at; from < s.size; {
		p, err := s.view(from, min(from+windowBytes, s.size))
		if err != nil {
			return 0, false, err
		}
		if n := len(bytes.TrimRight(p, "\x00")); n > 0 {
			end = max(end, from+int64(n))
		}
		i := 0
		if from == at {
			i = 1
		}
		for ; i+HeaderBytes <= len(p); i++ {
			if !s.candidate(p[i:], from+int64(i)) {
				continue
			}
			place := from + int64(i)
			if h, ok, err := s.read(place); err != nil || ok && s.possible(h, place) {
				return place, err == nil, err
			}
			if p, err = s.view(place, min(from+windowBytes, s.size)); err != nil {
				return 0, false, err
			}
			from, i = place, 0
		}
		if len(p) < HeaderBytes || from+int64(len(p)) == s.size {
			break
		}
		from += int64(len(p)) - HeaderBytes + 1
	}
	for _, h := range s.file.Holes() {
		end = max(end, h.End)
	}
	s.damage.Tail = end - at
	return 0, false, nil
}

// candidate reports whether p starts with the header of a frame at the given place, as far as the
// header tells, and there is budget left to read the payload.
func (s *salvage) candidate(p []byte, place int64) bool {
	if !kind(binary.LittleEndian.Uint64(p[kindAt:])).valid() {
		return false
	}
	h, ok := parseFrameHeader(p, s.seed, place)
	if !ok || int64(h.length) > s.size-place-HeaderBytes || int64(h.length) > s.budget {
		return false
	}
	s.budget -= int64(h.length)
	return true
}
