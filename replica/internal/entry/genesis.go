package entry

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Genesis is the content of the first entry of a log: whose log it is.
type Genesis struct {
	Device      [32]byte // the public key that the log's seals verify with
	Incarnation [16]byte // random: tells the logs of a device apart
	Branch      uint64   // of the database in which the log began; 0 if that is not known
}

// Entry returns the genesis entry, whose hash at the place of a space alone is the log's id.
func (g *Genesis) Entry(t hlc.Time) *Entry {
	p := append(append([]byte{}, g.Device[:]...), g.Incarnation[:]...)
	p = append(binary.AppendUvarint(p, g.Branch), 0) // no delegation
	return &Entry{Time: t, Kind: KindGenesis, Parts: []Part{{Data: p}}}
}

// ParseGenesis returns the content of a genesis entry.
func ParseGenesis(e *Entry) (*Genesis, error) {
	r := wire.Reader{}
	if e.Kind != KindGenesis || len(e.Context) > 0 || len(e.Parts) != 1 || e.Parts[0].Group != "" ||
		e.Parts[0].Withheld != nil {
		r.Fail("a genesis entry has no context, and one part, whole and without a group")
		return nil, r.Err()
	}
	r = wire.NewReader(e.Parts[0].Data)
	g := &Genesis{Device: r.Hash()}
	copy(g.Incarnation[:], r.Take(len(g.Incarnation)))
	g.Branch = r.Uvarint()
	if delegation := r.Uvarint(); delegation != 0 {
		r.FailWith(ErrNewer)
	}
	return g, r.End()
}

// Space describes a space. Its hash is the space's id.
type Space struct {
	Trusted  bool       // entries have no seals, and everybody may do everything
	Salt     [16]byte   // random
	EntryMax uint64     // bytes of an entry, from EntryMaxLeast to SizeMax
	Quorum   uint64     // how many roots must agree; 0 in a trusted space
	Roots    [][32]byte // none in a trusted space
}

// EntryMaxLeast is the least limit of entries that a space may have, and the usual one.
const EntryMaxLeast = 1 << 20

// Limits of spaces.
const (
	RootsMax     = 32
	spaceVersion = 1
	modeSealed   = 0 // the mode of a space whose entries are sealed
	modeTrusted  = 1 // of a trusted one; others are reserved
)

// Append appends the description of the space.
func (s *Space) Append(dst []byte) []byte {
	mode := byte(modeSealed)
	if s.Trusted {
		mode = modeTrusted
	}
	dst = append(append(dst, spaceVersion, mode), s.Salt[:]...)
	dst = binary.AppendUvarint(binary.AppendUvarint(dst, s.EntryMax), s.Quorum)
	dst = append(dst, byte(len(s.Roots)))
	for i := range s.Roots {
		dst = append(dst, s.Roots[i][:]...)
	}
	return dst
}

// ParseSpace decodes the description of a space.
func ParseSpace(p []byte) (*Space, error) {
	r := wire.NewReader(p)
	version, mode := r.Byte(), r.Byte()
	if r.Err() == nil && (version != spaceVersion || mode > modeTrusted) {
		return nil, ErrNewer
	}
	s := &Space{Trusted: mode == modeTrusted}
	copy(s.Salt[:], r.Take(len(s.Salt)))
	if s.EntryMax = r.Uvarint(); s.EntryMax < EntryMaxLeast || s.EntryMax > SizeMax {
		r.Fail("an entry limit of %d bytes is not between %d and %d", s.EntryMax, EntryMaxLeast, SizeMax)
	}
	s.Quorum = r.Uvarint()
	s.Roots = make([][32]byte, r.Count(RootsMax, 32))
	for i := range s.Roots {
		s.Roots[i] = r.Hash()
		if i > 0 && string(s.Roots[i][:]) <= string(s.Roots[i-1][:]) {
			r.Fail("the roots are not sorted")
		}
	}
	switch {
	case s.Trusted && (s.Quorum > 0 || len(s.Roots) > 0):
		r.Fail("a trusted space with roots")
	case !s.Trusted && (s.Quorum == 0 || s.Quorum > uint64(len(s.Roots))):
		r.Fail("a quorum of %d of %d roots", s.Quorum, len(s.Roots))
	}
	return s, r.End()
}

// ID returns the space's id.
func (s *Space) ID() Hash { return sha256.Sum256(s.Append([]byte(domainSpace))) }
