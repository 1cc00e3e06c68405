package model

import (
	"encoding/hex"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// rightsVector is what is void of some entries, and the root of the state.
type rightsVector struct {
	Name        string
	Description string // of the space, whose id is zero here
	Entries     []placed
	Void        []voidPart
	Root        string
}

// voidPart is a part that does not count.
type voidPart struct {
	Log   string
	Seq   uint64
	Group string
}

// act appends an act.
func (a *author) act(t hlc.Time, act entry.Act, seen ...*author) entry.Head {
	e := act.Entry()
	e.Time = t
	a.add(e, seen...)
	return entry.Head{Log: a.facts[0].Log, Seq: uint64(len(a.facts) - 1)}
}

// last returns the last entry of an author.
func (a *author) last() entry.Last {
	f := &a.facts[len(a.facts)-1]
	return entry.Last{Head: entry.Head{Log: f.Log, Seq: f.Seq}, Hash: f.Hash}
}

// newRightsVector decides what counts of the entries of some authors.
func newRightsVector(
	t *testing.T, name string, about *entry.Space, authors ...*author,
) rightsVector {
	t.Helper()
	facts := factsOf(authors)
	v := rightsVector{Name: name, Description: hex.EncodeToString(about.Append(nil)),
		Entries: placesOf(facts)}
	r, err := NewRights(about, facts)
	if err != nil {
		t.Fatal(err)
	}
	counting, err := r.Counting(facts)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range facts {
		if f.Entry.Kind == entry.KindData && len(counting[i].Entry.Parts) == 0 {
			v.Void = append(v.Void, voidPart{hex.EncodeToString(f.Log[:]), f.Seq,
				f.Entry.Parts[0].Group})
		}
	}
	root, err := Root(entry.Hash{}, about, counting)
	if err != nil {
		t.Fatal(err)
	}
	v.Root = hex.EncodeToString(root[:])
	return v
}

func rightsVectors(t *testing.T) (all []rightsVector) {
	t.Helper()
	about := &entry.Space{EntryMax: 1 << 20, Quorum: 1, Roots: [][32]byte{{1}}}
	root, writer, third := begin(1), begin(2), begin(3)
	add := func(name string) {
		all = append(all, newRightsVector(t, name, about, root, writer, third))
	}
	edit := func(n int64) entry.Record { return ops(n, false) }
	root.write(10, edit(1))
	writer.write(11, edit(2), root)
	add("the second device has no grant")
	grant := root.act(20, entry.Act{Grant: &entry.Grant{Right: entry.RightWrite,
		To: entry.Principal{Device: [32]byte{2}}, Scope: []entry.Area{{Collection: "c"}}}})
	writer.write(21, edit(3))
	add("it has one that it has not seen")
	writer.write(22, edit(4), root)
	add("it has seen it")
	writer.act(23, entry.Act{Grant: &entry.Grant{Under: &grant, Right: entry.RightWrite,
		To: entry.Principal{Device: [32]byte{3}}}})
	third.write(24, edit(5), writer)
	add("it passes on what it may not")
	counted := writer.last()
	writer.write(25, entry.Record{Delete: true})
	late := writer.last()
	add("it deletes the record")
	root.act(30, entry.Act{Revoke: &entry.Revoke{Grant: grant, Last: []entry.Last{counted}}}, writer)
	add("its grant ends before the deletion")
	again := *writer.facts[late.Seq].Entry
	root.add(&entry.Entry{Time: 31, Kind: entry.KindData, Origin: &late, Parts: again.Parts})
	add("a root deletes it in its place")
	root.add(&entry.Entry{Time: 32, Kind: entry.KindData, Origin: &late, Parts: again.Parts})
	add("twice")
	return all
}

func TestRightsVectors_areWhatTheModelDecides(t *testing.T) {
	golden.Compare(t, "rights.json", rightsVectors(t))
}
