package entry

import (
	"bytes"
	"encoding/binary"

	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Act is the content of a control entry: what its author decides about the space. Exactly one field
// is set.
type Act struct {
	Grant      *Grant
	Revoke     *Revoke
	Endorse    *Endorse
	Checkpoint *Checkpoint
}

// The types of acts. All other numbers are reserved.
const (
	actGrant      = 1
	actRevoke     = 2
	actEndorse    = 3
	actCheckpoint = 4
)

// Right says what a grant permits: one of the levels, and flags.
type Right uint8

// The levels of rights, each of which includes those below, and their flags. All other bits are
// reserved.
const (
	RightRelay      Right = 1
	RightRead       Right = 2
	RightWrite      Right = 3
	RightAdmin      Right = 4
	RightInvite     Right = 0x10
	RightCheckpoint Right = 0x20

	rightLevel Right = 0x0F
)

// Level returns the right without its flags, which is 0 if it has flags only.
func (r Right) Level() Right { return r & rightLevel }

// The kinds of principals. All other numbers are reserved.
const (
	principalDevice = 1
	principalAnyone = 2
)

// Principal says to whom a grant is made.
type Principal struct {
	Anyone bool
	Device [32]byte // zero for anyone
}

// Includes reports whether a device is meant.
func (p *Principal) Includes(device [32]byte) bool { return p.Anyone || p.Device == device }

// Grant gives a right to a principal.
type Grant struct {
	Under *Head // the grant that its author acts under; nil: as a root
	To    Principal
	Right Right
	Scope []Area // ascending by their bytes; none: everything
}

// Area is a part of a space. A grant permits what lies in any of its areas.
type Area struct {
	Collection string // empty: all
	Prefix     []byte // of the keys of records
	OwnOnly    bool   // behind the prefix, the key has the device: see Area.Own
	NoDelete   bool
	Fields     []string // ascending; none: all
}

// Revoke ends a grant.
type Revoke struct {
	Under *Head // the grant that its author acts under; nil: as a root
	Grant Head
	Last  []Last // by ascending log; logs that are missing count nothing under the grant
}

// Endorse is the consent of a root to the act of another one.
type Endorse struct {
	Act  Head
	Hash Hash // of the entry
}

// Limits of acts.
const (
	AreasMax      = 64
	AreaFieldsMax = 256
	lastMax       = 1 << 16
)

// Flags of an area. All other bits are reserved.
const (
	areaOwnOnly  = 1
	areaNoDelete = 2
)

// Entry returns a control entry with the act.
func (a *Act) Entry() *Entry {
	return &Entry{Kind: KindControl, Parts: []Part{{Data: a.Append(nil)}}}
}

// Append appends the encoded act.
func (a *Act) Append(dst []byte) []byte {
	switch {
	case a.Grant != nil:
		return a.Grant.append(append(dst, actGrant))
	case a.Revoke != nil:
		return a.Revoke.append(append(dst, actRevoke))
	case a.Checkpoint != nil:
		return a.Checkpoint.Append(append(dst, actCheckpoint))
	}
	dst = append(append(dst, actEndorse), a.Endorse.Act.Log[:]...)
	return append(binary.AppendUvarint(dst, a.Endorse.Act.Seq), a.Endorse.Hash[:]...)
}

// appendUnder appends the grant that an author acts under.
func appendUnder(dst []byte, under *Head) []byte {
	if under == nil {
		return append(dst, 0)
	}
	return under.append(append(dst, 1))
}

func (g *Grant) append(dst []byte) []byte {
	dst = appendUnder(dst, g.Under)
	if g.To.Anyone {
		dst = append(dst, principalAnyone)
	} else {
		dst = append(append(dst, principalDevice), g.To.Device[:]...)
	}
	dst = append(dst, byte(g.Right), byte(len(g.Scope)))
	for i := range g.Scope {
		dst = g.Scope[i].Append(dst)
	}
	return dst
}

// Append appends the encoded area.
func (a *Area) Append(dst []byte) []byte {
	dst = wire.AppendBytes(wire.AppendBytes(dst, a.Collection), a.Prefix)
	flags := byte(0)
	if a.OwnOnly {
		flags |= areaOwnOnly
	}
	if a.NoDelete {
		flags |= areaNoDelete
	}
	dst = binary.AppendUvarint(append(dst, flags), uint64(len(a.Fields)))
	for _, name := range a.Fields {
		dst = wire.AppendBytes(dst, name)
	}
	return dst
}

func (v *Revoke) append(dst []byte) []byte {
	dst = v.Grant.append(appendUnder(dst, v.Under))
	dst = binary.AppendUvarint(dst, uint64(len(v.Last)))
	for i := range v.Last {
		dst = append(v.Last[i].Head.append(dst), v.Last[i].Hash[:]...)
	}
	return dst
}

// IsCheckpoint reports whether an entry in its stored form has a checkpoint.
func IsCheckpoint(stored []byte) bool {
	const kind = 1 + 8 // behind the version and the time
	if len(stored) <= kind || stored[kind] != byte(KindControl) {
		return false // without parsing it: most entries are data
	}
	e, err := Parse(stored)
	if err != nil {
		return false
	}
	a, err := ParseAct(e)
	return err == nil && a.Checkpoint != nil
}

// ParseAct returns the act of a control entry.
func ParseAct(e *Entry) (*Act, error) {
	r := wire.Reader{}
	if e.Kind != KindControl || len(e.Parts) != 1 || e.Parts[0].Group != "" {
		r.Fail("a control entry has one part, without a group")
		return nil, r.Err()
	}
	r = wire.NewReader(e.Parts[0].Data)
	a := &Act{}
	switch r.Uvarint() {
	case actGrant:
		a.Grant = takeGrant(&r)
	case actRevoke:
		a.Revoke = takeRevoke(&r)
	case actEndorse:
		a.Endorse = &Endorse{takeHead(&r), r.Hash()}
	case actCheckpoint:
		a.Checkpoint = takeCheckpoint(&r)
	default:
		r.FailWith(ErrNewer)
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	return a, nil
}

func takeUnder(r *wire.Reader) *Head {
	switch r.Byte() {
	case 0:
		return nil
	case 1:
		h := takeHead(r)
		return &h
	}
	r.FailWith(ErrNewer)
	return nil
}

func takeGrant(r *wire.Reader) *Grant {
	g := &Grant{Under: takeUnder(r)}
	switch r.Byte() {
	case principalDevice:
		g.To.Device = r.Hash()
	case principalAnyone:
		g.To.Anyone = true
	default:
		r.FailWith(ErrNewer)
	}
	g.Right = Right(r.Byte())
	known := g.Right&^(rightLevel|RightInvite|RightCheckpoint) == 0
	if !known || g.Right.Level() > RightAdmin {
		r.FailWith(ErrNewer)
	}
	if g.Right == 0 {
		r.Fail("a grant of nothing")
	}
	if n := r.Count(AreasMax, 4); n > 0 {
		g.Scope = make([]Area, n)
	}
	var before []byte
	for i := range g.Scope {
		g.Scope[i].parse(r)
		p := g.Scope[i].Append(nil)
		if bytes.Compare(p, before) <= 0 {
			r.Fail("the areas are not sorted")
		}
		before = p
	}
	return g
}

func (a *Area) parse(r *wire.Reader) {
	a.Collection = string(r.Bytes(0, groupMax))
	a.Prefix = r.Bytes(0, KeyMax)
	flags := r.Byte()
	if flags > areaOwnOnly|areaNoDelete {
		r.FailWith(ErrNewer)
	}
	a.OwnOnly, a.NoDelete = flags&areaOwnOnly != 0, flags&areaNoDelete != 0
	if n := r.Count(AreaFieldsMax, 2); n > 0 {
		a.Fields = make([]string, n)
	}
	for i := range a.Fields {
		a.Fields[i] = string(r.Bytes(1, FieldMax))
		if i > 0 && a.Fields[i] <= a.Fields[i-1] {
			r.Fail("the fields of an area are not sorted")
		}
	}
}

func takeRevoke(r *wire.Reader) *Revoke {
	v := &Revoke{Under: takeUnder(r), Grant: takeHead(r)}
	if n := r.Count(lastMax, 32+1+32); n > 0 {
		v.Last = make([]Last, n)
	}
	for i := range v.Last {
		v.Last[i] = Last{takeHead(r), r.Hash()}
		if i > 0 && string(v.Last[i].Log[:]) <= string(v.Last[i-1].Log[:]) {
			r.Fail("the logs of a revocation are not sorted")
		}
	}
	return v
}
