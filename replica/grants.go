package replica

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/rights"
)

// Granted is a grant of a space.
type Granted struct {
	ID     EntryID
	By     DeviceID
	Under  *EntryID // the grant that its author acted under; nil: as a root
	To     Principal
	Right  Right
	Scopes []Scope // none: the whole space
	Void   error   // why it has no effect, as that roots have yet to endorse it; nil: it has
	Ends   []Revoked
}

// Revoked is a revocation of a grant.
type Revoked struct {
	ID   EntryID
	By   DeviceID
	Void error // why it has no effect; nil: it has
}

// Active reports whether the grant holds, and no revocation ends it.
func (g *Granted) Active() bool {
	return g.Void == nil && !slices.ContainsFunc(g.Ends, func(r Revoked) bool { return r.Void == nil })
}

// Grants returns an iterator over the grants of the space, by time. It leaves out grants
// that can never have an effect, because their authors had no right to make them.
func (s *Space) Grants(tx *stoat.Tx) iter.Seq2[Granted, error] {
	return func(yield func(Granted, error) bool) {
		t, err := s.in(tx)
		var v *rightsView
		if err == nil {
			v, err = t.rights()
		}
		if err != nil {
			yield(Granted{}, wrap(s.name, err))
			return
		}
		for _, g := range v.tree.All() {
			if !yield(granted(v.tree, g), nil) {
				return
			}
		}
	}
}

func granted(tree *rights.Tree, g *rights.Grant) Granted {
	act := g.Act.Grant
	all := Granted{ID: idOf(g.At), By: g.Device, Right: Right(act.Right), Void: g.Why()}
	if all.To = Principal(DeviceID(act.To.Device)); act.To.Anyone {
		all.To = Anyone
	}
	if act.Under != nil {
		under := idOf(*act.Under)
		all.Under = &under
	}
	for i := range act.Scope {
		all.Scopes = append(all.Scopes, Scope{areas: act.Scope[i : i+1 : i+1]})
	}
	for f, why := range tree.Ends(g.At) {
		all.Ends = append(all.Ends, Revoked{idOf(f.At), f.Device, why})
	}
	return all
}

func idOf(at entry.Head) EntryID { return EntryID{LogID(at.Log), at.Seq} }

// String returns the right in words, as in "write, invite".
func (r Right) String() string {
	words := []string{}
	level := entry.Right(r).Level()
	if names := []string{"", "relay", "read", "write", "admin"}; level > 0 && int(level) < len(names) {
		words = append(words, names[level])
	}
	if r&Invite != 0 {
		words = append(words, "invite")
	}
	if r&Checkpoint != 0 {
		words = append(words, "checkpoint")
	}
	return strings.Join(words, ", ")
}

// String returns the scope in words.
func (s Scope) String() string {
	var all []string
	for i := range s.areas {
		a := &s.areas[i]
		text := "all collections"
		if a.Collection != "" {
			text = fmt.Sprintf("%q", a.Collection)
		}
		if len(a.Prefix) > 0 {
			text += fmt.Sprintf(", keys from %x", a.Prefix)
		}
		if a.OwnOnly {
			text += ", own records"
		}
		if a.NoDelete {
			text += ", no deletions"
		}
		if len(a.Fields) > 0 {
			text += ", fields " + strings.Join(a.Fields, " ")
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}
