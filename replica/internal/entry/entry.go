// Package entry encodes what replicas exchange: entries, the changes in them, seals, and what
// founds spaces and logs. docs/replica-format.md defines all of it, byte by byte.
//
// Every value has one encoding, and decoders refuse all others: lists are sorted and have no
// duplicates, and numbers are as short as possible. So two replicas that have the same entry have
// the same bytes, and the same hash. Decoded values refer to the bytes that they were decoded from.
// Nothing that arrives can make a decoder panic, or allocate more than a multiple of its size, some
// forty at worst.
//
// An [Entry] is what its author wrote, a [Place] is where it belongs; the hash of an entry covers
// both, so it is worth nothing anywhere else. The package knows no databases, no clocks and no
// rules of merging. Functions are safe for concurrent use.
package entry

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Hash is a SHA-256 sum.
type Hash [32]byte

// String returns the first 8 bytes, in hexadecimal: enough to tell hashes apart in messages.
func (h Hash) String() string { return hex.EncodeToString(h[:8]) }

// Errors of decoding, besides wire.ErrMalformed.
var (
	// ErrNewer reports that something has a version, a kind or a flag that this version of the
	// package does not know.
	ErrNewer = errors.New("it needs a newer version of package replica")
)

// Version is the version of entries.
const Version = 1

// Kind says what an entry is about.
type Kind uint64

// The kinds of entries. All other numbers are reserved.
const (
	KindGenesis Kind = 0 // the first entry of a log
	KindData    Kind = 1 // changes of records
	KindContext Kind = 2 // nothing but what its author has seen
	KindControl Kind = 3 // an act that decides about the space: see Act
)

// Limits of entries.
const (
	SizeMax    = 16 << 20 // of an entry, in bytes
	SeqMax     = 1 << 48  // numbers of entries are below
	ContextMax = 32       // heads in a context
	PartsMax   = 64       // parts of an entry
	groupMax   = 255      // bytes of the name of a group
)

// The flags of entries. All others are reserved.
const (
	flagContext = 1 // there is a context
	flagOrigin  = 2 // there is an origin
)

// The forms of parts. All others are reserved.
const (
	formWhole    = 0 // the content follows
	formWithheld = 1 // only the length and the hash of the content follow
)

// Entry is what one transaction did to the collections of one space.
type Entry struct {
	Time    hlc.Time
	Kind    Kind
	Context []Head // what its author had newly seen, by ascending log; none if nothing
	Digest  Hash   // of the context: see ContextDigest
	Origin  *Last  // the entry whose changes this data entry repeats; usually nil
	Parts   []Part // by ascending group
}

// Head names the entry of a log up to which something counts.
type Head struct {
	Log Hash
	Seq uint64
}

// Last names an entry by its hash, too.
type Last struct {
	Head
	Hash Hash
}

// Part is what an entry says about one group of collections.
type Part struct {
	Group    string
	Data     []byte
	Withheld *Withheld // stands for Data, which is nil then
	// Broken is why Data has no changes, if somebody has looked and it has none: the part is void.
	// It is not encoded.
	Broken error
}

// Withheld stands for the content of a part that is not there. The hash of the entry is the same.
type Withheld struct {
	Size uint64 // of the content, in bytes
	Hash Hash   // of the content
}

// Withhold drops the content of the part.
func (p *Part) Withhold() {
	if p.Withheld == nil {
		p.Withheld = &Withheld{p.Size(), p.Hash()}
		p.Data = nil
	}
}

// WholeSize returns the size of the stored form of the entry with all contents, given its size as
// it is.
func (e *Entry) WholeSize(size int) int {
	for i := range e.Parts {
		if w := e.Parts[i].Withheld; w != nil {
			size += int(w.Size) - len(w.Hash)
		}
	}
	return size
}

// Place is where an entry belongs.
type Place struct {
	Space Hash
	Log   Hash   // zero for a genesis entry, whose hash is the log's id
	Seq   uint64 // 0 for the genesis entry
	Prev  Hash   // the hash of the entry before; zero for the genesis entry
}

// Room returns about how many bytes the stored form of the entry has, and not fewer.
func (e *Entry) Room() int {
	n := 64 + 42*len(e.Context) + 80
	for i := range e.Parts {
		n += len(e.Parts[i].Group) + len(e.Parts[i].Data) + 48
	}
	return n
}

// Append appends the entry as it is stored and sent: without its place.
func (e *Entry) Append(dst []byte) []byte {
	dst = e.appendHead(append(dst, Version))
	for i := range e.Parts {
		part := &e.Parts[i]
		dst = wire.AppendBytes(dst, part.Group)
		if w := part.Withheld; w != nil {
			dst = append(binary.AppendUvarint(append(dst, formWithheld), w.Size), w.Hash[:]...)
		} else {
			dst = wire.AppendBytes(append(dst, formWhole), part.Data)
		}
	}
	return dst
}

// appendHead appends what the header and the stored form have in common.
func (e *Entry) appendHead(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint64(dst, uint64(e.Time))
	dst = binary.AppendUvarint(dst, uint64(e.Kind))
	flags := byte(0)
	if len(e.Context) > 0 {
		flags |= flagContext
	}
	if e.Origin != nil {
		flags |= flagOrigin
	}
	dst = append(dst, flags)
	if len(e.Context) > 0 {
		dst = append(dst, byte(len(e.Context)))
		for i := range e.Context {
			dst = e.Context[i].append(dst)
		}
		dst = append(dst, e.Digest[:]...)
	}
	if e.Origin != nil {
		dst = append(e.Origin.append(dst), e.Origin.Hash[:]...)
	}
	return append(dst, byte(len(e.Parts)))
}

func (h *Head) append(dst []byte) []byte {
	return binary.AppendUvarint(append(dst, h.Log[:]...), h.Seq)
}

func takeHead(r *wire.Reader) Head { return Head{r.Hash(), r.Uvarint()} }

// Parse decodes an entry, which is all of p. It does not look into the parts.
func Parse(p []byte) (*Entry, error) {
	if len(p) > SizeMax {
		return nil, errTooLarge
	}
	r := wire.NewReader(p)
	e := &Entry{}
	e.parseHead(&r)
	n := r.Count(PartsMax, 3)
	if n > 0 {
		e.Parts = make([]Part, n)
	}
	for i := range e.Parts {
		part := &e.Parts[i]
		part.Group = string(r.Bytes(0, groupMax))
		switch r.Byte() {
		case formWhole:
			part.Data = r.Bytes(0, SizeMax)
		case formWithheld:
			if part.Withheld = (&Withheld{r.Uvarint(), r.Hash()}); part.Withheld.Size > SizeMax {
				r.Fail("a part of %d bytes", part.Withheld.Size)
			}
		default:
			r.FailWith(ErrNewer)
		}
		if i > 0 && part.Group <= e.Parts[i-1].Group {
			r.Fail("the parts are not sorted")
		}
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return e, nil
}

// errTooLarge is returned for an entry that no space allows.
var errTooLarge = errors.New("an entry has more than 16 MiB")

// ParseHead decodes an entry except its parts.
func ParseHead(p []byte) (*Entry, error) {
	r := wire.NewReader(p)
	e := &Entry{}
	e.parseHead(&r)
	return e, r.Err()
}

// parseHead reads what precedes the parts.
func (e *Entry) parseHead(r *wire.Reader) {
	if v := r.Byte(); r.Err() == nil && v != Version {
		r.FailWith(ErrNewer)
	}
	e.Time = hlc.Time(r.Uint64())
	e.Kind = Kind(r.Uvarint())
	if e.Kind > KindControl {
		r.FailWith(ErrNewer)
	}
	flags := r.Uvarint()
	if flags > flagContext|flagOrigin {
		r.FailWith(ErrNewer)
	}
	if flags&flagContext != 0 {
		e.parseContext(r)
	}
	if flags&flagOrigin == 0 || r.Err() != nil {
		return
	}
	e.Origin = &Last{takeHead(r), r.Hash()}
	if e.Kind != KindData {
		r.Fail("an entry that is not about data has an origin")
	}
}

func (e *Entry) parseContext(r *wire.Reader) {
	n := r.Count(ContextMax, 33)
	if n == 0 {
		r.Fail("a context is empty")
		return
	}
	e.Context = make([]Head, n)
	for i := range e.Context {
		e.Context[i] = takeHead(r)
		if i > 0 && string(e.Context[i].Log[:]) <= string(e.Context[i-1].Log[:]) {
			r.Fail("the context is not sorted")
		}
	}
	e.Digest = Hash(r.Hash())
}

// The domains that the hashes and signatures of the format begin with.
const (
	domainEntry   = "stoat.replica.entry.v1"
	domainPart    = "stoat.replica.part.v1"
	domainContext = "stoat.replica.context.v1"
	domainSeal    = "stoat.replica.seal.v1"
	domainSpace   = "stoat.replica.space.v1"
)

// AppendHeader appends the header of the entry at a place: what its hash is the hash of, behind the
// domain.
func (e *Entry) AppendHeader(dst []byte, at *Place) []byte {
	dst = append(dst, Version)
	dst = append(dst, at.Space[:]...)
	dst = append(dst, at.Log[:]...)
	dst = binary.AppendUvarint(dst, at.Seq)
	dst = append(dst, at.Prev[:]...)
	dst = e.appendHead(dst)
	for i := range e.Parts {
		part := &e.Parts[i]
		dst = wire.AppendBytes(dst, part.Group)
		hash := part.Hash()
		dst = append(binary.AppendUvarint(dst, part.Size()), hash[:]...)
	}
	return dst
}

// Size returns the size of the content of the part, in bytes.
func (p *Part) Size() uint64 {
	if p.Withheld != nil {
		return p.Withheld.Size
	}
	return uint64(len(p.Data))
}

// Hash returns the hash of the content of the part.
func (p *Part) Hash() (h Hash) {
	if p.Withheld != nil {
		return p.Withheld.Hash
	}
	s := sha256.New()
	s.Write([]byte(domainPart))
	s.Write(p.Data)
	s.Sum(h[:0])
	return h
}

// Hash returns the hash of the entry at a place.
func (e *Entry) Hash(at *Place) Hash {
	var room [512]byte
	return sha256.Sum256(e.AppendHeader(append(room[:0], domainEntry...), at))
}

// ContextDigest returns the digest of a context, given the hashes of its entries in order.
func ContextDigest(hashes []Hash) (h Hash) {
	s := sha256.New()
	s.Write([]byte(domainContext))
	for i := range hashes {
		s.Write(hashes[i][:])
	}
	s.Sum(h[:0])
	return h
}

// AppendSealed appends what the seal of an entry signs.
func AppendSealed(dst []byte, space, log *Hash, seq uint64, hash *Hash) []byte {
	dst = append(dst, domainSeal...)
	dst = append(append(dst, space[:]...), log[:]...)
	return append(binary.BigEndian.AppendUint64(dst, seq), hash[:]...)
}
