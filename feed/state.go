package feed

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// stateVersion is the first byte of a stored state.
const stateVersion = 1

// state is the counters of a feed. Its stored form is a version and uvarints, in the order of the
// fields; sublogs are stored as their number followed, for each, by the name's length, the name,
// and next. The edition takes 8 bytes, little-endian.
type state struct {
	first   uint64 // the oldest entry that is kept, or next
	next    uint64 // the number of the next entry
	latest  uint64 // when the last entry was appended, in milliseconds since 1970
	written uint64 // size of all encoded values ever appended, in bytes
	checked uint64 // the value of next when retention was last applied
	sublogs []sublogState
	edition uint64 // the newest of the lineage
}

// sublogState is how far a stored sublog has been built.
type sublogState struct {
	name string
	next uint64 // the first entry that it lacks
}

func (s *state) append(dst []byte) []byte {
	dst = append(dst, stateVersion)
	numbers := []uint64{
		s.first, s.next, s.latest, s.written, s.checked, uint64(len(s.sublogs)),
	}
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	for _, sub := range s.sublogs {
		dst = binary.AppendUvarint(dst, uint64(len(sub.name)))
		dst = binary.AppendUvarint(append(dst, sub.name...), sub.next)
	}
	return binary.LittleEndian.AppendUint64(dst, s.edition)
}

// parse parses the stored form p into s.
func (s *state) parse(p []byte) error {
	if len(p) == 0 {
		return damaged("the state is empty")
	}
	if p[0] != stateVersion {
		return fmt.Errorf("state %x has no known version: update the program: %w", p,
			stoat.ErrFormat)
	}
	*s = state{}
	in := reader{rest: p[1:]}
	for _, n := range []*uint64{&s.first, &s.next, &s.latest, &s.written, &s.checked} {
		*n = in.number()
	}
	for range in.number() {
		name := in.bytes(in.number())
		s.sublogs = append(s.sublogs, sublogState{string(name), in.number()})
		if in.bad {
			break
		}
	}
	if edition := in.bytes(8); !in.bad {
		s.edition = binary.LittleEndian.Uint64(edition)
	}
	if in.bad || len(in.rest) > 0 || s.first > s.next {
		return damaged("state %x", p)
	}
	return nil
}

// sublog returns the state of the named sublog, or nil if it is not stored.
func (s *state) sublog(name string) *sublogState {
	i := slices.IndexFunc(s.sublogs, func(sub sublogState) bool { return sub.name == name })
	if i < 0 {
		return nil
	}
	return &s.sublogs[i]
}

// reader parses stored bytes. Once they turn out bad, it returns zero values.
type reader struct {
	rest []byte
	bad  bool
}

// number reads a uvarint.
func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || r.bad {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// bytes reads n bytes.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) || r.bad {
		r.bad, r.rest = true, nil
		return nil
	}
	p := r.rest[:n:n]
	r.rest = r.rest[n:]
	return p
}
