package object

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
)

// Tags of the fields of a state. The numbers are stored and never reused.
const (
	tagVersion = 1
	tagCommit  = 2
	tagPending = 3
	tagClaims  = 4
	tagEnds    = 5
	tagRetired = 6
	tagBound   = 7
	tagVoid    = 8
	tagOrigin  = 9
)

// The minimum encoded sizes of list items.
const (
	minPendingBytes = 2
	minClaimBytes   = 3 + len(ID{})
	minEndBytes     = 9
	minRetiredBytes = 3
)

// State is what the log up to a number amounts to: a pure function of it.
type State struct {
	Header  // Number, Epoch, ID and Time are those of the last log object
	Version *manifest.Version
	Commit  uint64 // the newest commit in the log

	// Pending is the log objects with commits that are not in tables yet, by number. A reader of the
	// state needs them; none may be deleted.
	Pending []Pending
	Claims  []ClaimAt // all claims that count, by number
	Ends    []Branch  // the branches of the past, the oldest first
	Retired []Retired // files to delete, by the number at which they were retired
	Bound   uint64    // the newest unlink bound; 0: none
	Void    []uint64  // the numbers of void objects
	Origin  *Origin   // of a clone that needs it; nil: there is none
}

// Pending is a log object whose commits are not all in tables.
type Pending struct {
	Number uint64
	Last   uint64 // its last commit
}

// ClaimAt is a claim of the past.
type ClaimAt struct {
	Number, Epoch uint64
	Window        uint64
	ID            ID
}

// Branch is a branch that has ended.
type Branch struct {
	Branch uint64
	End    uint64 // its last commit
}

// FileKind says what kind of file a number is of.
type FileKind uint64

// The kinds of files. The numbers are stored and never reused.
const (
	TableFile FileKind = iota + 1
	ValuesFile
	LogFile // a segment of the local log that holds values
)

// Retired is a file that an edit has removed from the version.
type Retired struct {
	At   uint64 // the number of the edit's log object
	Kind FileKind
	File uint64
}

// EncodeState returns a state object. It is an error if readers would refuse it.
func (c *Codec) EncodeState(s *State) ([]byte, error) {
	if err := errors.Join(s.check(stateKind), s.verify()); err != nil {
		return nil, fmt.Errorf("encode state %d: %w", s.Number, err)
	}
	return c.seal(&s.Header, stateKind, s.Origin.version(), s.unsealed())
}

// unsealed returns room for the header, and the payload.
func (s *State) unsealed() []byte {
	object := append(make([]byte, HeaderBytes), tagVersion)
	object = appendBytes(object, manifest.AppendVersion(nil, s.Version))
	object = appendField(object, tagCommit, s.Commit)
	object = appendField(object, tagPending, uint64(len(s.Pending)))
	for _, p := range s.Pending {
		object = appendUvarints(object, p.Number, p.Last)
	}
	object = appendField(object, tagClaims, uint64(len(s.Claims)))
	for _, p := range s.Claims {
		object = append(appendUvarints(object, p.Number, p.Epoch, p.Window), p.ID[:]...)
	}
	object = appendField(object, tagEnds, uint64(len(s.Ends)))
	for _, b := range s.Ends {
		object = binary.LittleEndian.AppendUint64(object, b.Branch)
		object = binary.AppendUvarint(object, b.End)
	}
	object = appendField(object, tagRetired, uint64(len(s.Retired)))
	for _, r := range s.Retired {
		object = appendUvarints(object, r.At, uint64(r.Kind), r.File)
	}
	object = appendField(object, tagBound, s.Bound)
	object = appendField(object, tagVoid, uint64(len(s.Void)))
	object = appendUvarints(object, s.Void...)
	if s.Origin != nil {
		object = s.Origin.append(append(object, tagOrigin))
	}
	return object
}

// appendField appends a tag and a number, unless that is zero.
func appendField(dst []byte, tag, n uint64) []byte {
	if n == 0 {
		return dst
	}
	return appendUvarints(dst, tag, n)
}

// DecodeState decodes a state object. The name is for errors.
func (c *Codec) DecodeState(name string, p []byte) (*State, error) {
	h, payload, err := c.open(name, p, stateKind)
	if err != nil {
		return nil, err
	}
	s := &State{Header: h}
	d := decoder{rest: payload}
	for before := uint64(0); d.err == nil && len(d.rest) > 0; {
		tag := d.number()
		if tag <= before {
			d.fail("field %d follows field %d", tag, before)
		}
		before = tag
		s.decodeField(&d, tag)
	}
	if err = d.end(); err == nil {
		err = errors.Join(wantVersion(p, s.Origin.version()), s.verify())
	}
	if err != nil {
		return nil, corrupt.New(name, HeaderBytes, "%v", err)
	}
	return s, nil
}

func (s *State) decodeField(d *decoder, tag uint64) {
	switch tag {
	case tagVersion:
		encoded := d.bytes()
		if d.err != nil {
			return
		}
		version, err := manifest.DecodeVersion(encoded)
		if err != nil {
			d.fail("version: %w", err)
			return
		}
		s.Version = version
	case tagCommit:
		s.Commit = d.positive()
	case tagPending:
		s.Pending = make([]Pending, d.items(minPendingBytes))
		for i := range s.Pending {
			s.Pending[i] = Pending{d.number(), d.number()}
		}
	case tagClaims:
		s.Claims = make([]ClaimAt, d.items(minClaimBytes))
		for i := range s.Claims {
			s.Claims[i] = ClaimAt{d.number(), d.number(), d.number(), d.id()}
		}
	case tagEnds:
		s.Ends = make([]Branch, d.items(minEndBytes))
		for i := range s.Ends {
			s.Ends[i] = Branch{d.word(), d.number()}
		}
	case tagRetired:
		s.Retired = make([]Retired, d.items(minRetiredBytes))
		for i := range s.Retired {
			s.Retired[i] = Retired{d.number(), FileKind(d.number()), d.number()}
		}
	case tagBound:
		s.Bound = d.positive()
	case tagVoid:
		s.Void = make([]uint64, d.items(1))
		for i := range s.Void {
			s.Void[i] = d.number()
		}
	case tagOrigin:
		s.Origin = d.origin()
	default:
		d.fail("field %d is unknown", tag)
	}
}

// verify returns an error if no log amounts to the state.
func (s *State) verify() error {
	if s.Version == nil {
		return errors.New("the version is missing")
	}
	if s.Version.LastCommit > s.Commit || s.Commit > numberMax || s.Bound > s.Number {
		return fmt.Errorf("commit %d is in tables, bound %d, after commit %d at %d",
			s.Version.LastCommit, s.Bound, s.Commit, s.Number)
	}
	if err := errors.Join(s.verifyClaims(), s.Origin.verify()); err != nil {
		return err
	}
	before := Pending{0, s.Version.LastCommit}
	for _, p := range s.Pending {
		if p.Number <= before.Number || p.Number > s.Number || p.Last <= before.Last ||
			p.Last > s.Commit {
			return fmt.Errorf("pending log object %d with commit %d is out of order", p.Number, p.Last)
		}
		before = p
	}
	if s.Commit > s.Version.LastCommit && before.Last != s.Commit {
		return fmt.Errorf("no pending log object has commit %d", s.Commit)
	}
	end := uint64(0)
	for _, b := range s.Ends {
		if b.Branch == 0 || b.End < end || b.End > s.Commit {
			return fmt.Errorf("branch %x ends at commit %d, out of order", b.Branch, b.End)
		}
		end = b.End
	}
	at := s.Bound + 1
	for _, r := range s.Retired {
		if r.At < at || r.At > s.Number || r.Kind < TableFile || r.Kind > LogFile || r.File > numberMax {
			return fmt.Errorf("retired file %d of kind %d at %d is out of order", r.File, r.Kind, r.At)
		}
		at = r.At
	}
	return nil
}

// ClaimIndex returns the index of the claim at number n, if that is one that counts.
func (s *State) ClaimIndex(n uint64) (i int, found bool) {
	return slices.BinarySearchFunc(s.Claims, n, func(c ClaimAt, n uint64) int {
		return cmp.Compare(c.Number, n)
	})
}

// ActedSince reports whether the log has anything but claims and void objects from claim i on,
// which may be the next one. Then folders of earlier claims lack what counts. The first object of a
// clone counts even if that has nothing: no folder is of before it.
func (s *State) ActedSince(i int) bool {
	if i >= len(s.Claims) {
		return false
	}
	if i == 0 && s.IsClone() {
		return true
	}
	first := s.Claims[i].Number
	at, _ := slices.BinarySearch(s.Void, first)
	return s.Number-first+1 > uint64(len(s.Claims)-i+len(s.Void)-at)
}

// IsClone reports whether the database began as a clone, whether or not it still has an origin.
func (s *State) IsClone() bool { return len(s.Claims) > 0 && s.Claims[0].Epoch > 1 }

// verifyClaims checks the claims and the void objects between them.
func (s *State) verifyClaims() error {
	var last ClaimAt
	for _, c := range s.Claims {
		if c.Number <= last.Number || c.Number > s.Number || c.Epoch <= last.Epoch ||
			c.Epoch-s.Claims[0].Epoch > c.Number-s.Claims[0].Number ||
			c.Window == 0 || c.Window > WindowMax || c.ID == (ID{}) {
			return fmt.Errorf("the claim of epoch %d at %d is out of order", c.Epoch, c.Number)
		}
		last = c
	}
	if last.Epoch != s.Epoch {
		return fmt.Errorf("the last claim is of epoch %d, and the state of %d", last.Epoch, s.Epoch)
	}
	if last.Number == s.Number && last.ID != s.ID {
		return fmt.Errorf("the claim at %d has another id than the state", s.Number)
	}
	before := uint64(0)
	for _, n := range s.Void {
		if _, isClaim := s.ClaimIndex(n); isClaim || n <= before || n >= s.Number {
			return fmt.Errorf("void number %d is out of order", n)
		}
		before = n
	}
	return nil
}
