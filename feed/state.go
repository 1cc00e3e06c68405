package feed

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// stateVersion is the first byte of a stored state.
const stateVersion = 1

// state is the counters of a feed. It is stored as a version and uvarints, in the order of the
// fields; the sublogs are their number and then, for each, the name's length, the name, and the
// number. The edition is 8 bytes, little-endian.
type state struct {
	first   uint64 // the oldest entry that is kept, or next
	next    uint64 // the number of the next entry
	latest  uint64 // milliseconds since 1970: when the last entry was appended
	written uint64 // bytes of all encoded values that were ever appended
	checked uint64 // what next was when retention was last applied
	sublogs []indexed
	edition uint64 // the newest of the lineage
}

// indexed is a sublog that is stored, and how far.
type indexed struct {
	name string
	next uint64 // the first entry that is not in it yet
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

// parse makes s what p is the stored form of.
func (s *state) parse(p []byte) error {
	if len(p) == 0 || p[0] != stateVersion {
		return fmt.Errorf("state %x of a newer version, or none: update the program: %w", p,
			stoat.ErrFormat)
	}
	*s = state{}
	in := reader{rest: p[1:]}
	for _, n := range []*uint64{&s.first, &s.next, &s.latest, &s.written, &s.checked} {
		*n = in.number()
	}
	for range in.number() {
		name := in.bytes(in.number())
		s.sublogs = append(s.sublogs, indexed{string(name), in.number()})
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

// sublog returns the stored sublog of that name, or nil.
func (s *state) sublog(name string) *indexed {
	i := slices.IndexFunc(s.sublogs, func(sub indexed) bool { return sub.name == name })
	if i < 0 {
		return nil
	}
	return &s.sublogs[i]
}

// reader takes stored bytes apart. Once they are bad it returns zero values.
type reader struct {
	rest []byte
	bad  bool
}

// number takes a uvarint.
func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || r.bad {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// bytes takes n bytes.
func (r *reader) bytes(n uint64) []byte {
	if n > uint64(len(r.rest)) || r.bad {
		r.bad, r.rest = true, nil
		return nil
	}
	p := r.rest[:n:n]
	r.rest = r.rest[n:]
	return p
}
