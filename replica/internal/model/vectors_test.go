package model

import (
	"encoding/hex"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/golden"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// stateVector is the root of the state of a space after some entries.
type stateVector struct {
	Name    string
	Space   string
	Entries []placed
	Root    string
}

// placed is an entry with its place, in hexadecimal.
type placed struct {
	Log    string
	Seq    uint64
	Stored string
}

// author writes one log.
type author struct {
	facts []Fact
	prev  entry.Hash
}

// write appends an entry about a record that has seen the heads of others.
func (a *author) write(t hlc.Time, r entry.Record, seen ...*author) {
	r.Key = tuple.AppendInt(nil, 1)
	changes := entry.Changes{Fields: []string{"keep", "map", "max", "min", "set", "sum", "tags"},
		Records: []entry.Record{r}}
	a.add(&entry.Entry{Time: t, Kind: entry.KindData,
		Parts: []entry.Part{{Group: "c", Data: changes.Append(nil)}}}, seen...)
}

// add appends an entry that has seen the heads of others.
func (a *author) add(e *entry.Entry, seen ...*author) {
	var hashes []entry.Hash
	for _, other := range seen {
		last := other.facts[len(other.facts)-1]
		e.Context = append(e.Context, entry.Head{Log: last.Log, Seq: last.Seq})
		hashes = append(hashes, other.prev)
	}
	e.Digest = entry.ContextDigest(hashes)
	at := &entry.Place{Log: a.facts[0].Log, Seq: uint64(len(a.facts)), Prev: a.prev}
	a.prev = e.Hash(at)
	a.facts = append(a.facts, Fact{Log: at.Log, Seq: at.Seq, Hash: a.prev, Entry: e})
}

// begin starts a log.
func begin(n byte) *author {
	e := (&entry.Genesis{Device: [32]byte{n}}).Entry(1)
	log := e.Hash(&entry.Place{})
	return &author{[]Fact{{Log: log, Hash: log, Entry: e}}, log}
}

// ops returns an operation on every field.
func ops(n int64, remove bool) entry.Record {
	number, text := tuple.AppendInt(nil, n), tuple.AppendString(nil, "x")
	items, entries := []entry.Item{{Key: text}}, []entry.Item{{Key: text, Value: number}}
	elements := entry.Op{Field: 6, Kind: entry.OpElements, Added: items}
	pairs := entry.Op{Field: 1, Kind: entry.OpEntries, Added: entries}
	if remove {
		elements.Removed, elements.Added = items, nil
		pairs.Removed, pairs.Added = items, nil
	}
	return entry.Record{Ops: []entry.Op{
		{Field: 0, Kind: entry.OpKeep, Value: number}, pairs,
		{Field: 2, Kind: entry.OpMax, Value: number}, {Field: 3, Kind: entry.OpMin, Value: number},
		{Field: 4, Kind: entry.OpSet, Value: number}, {Field: 5, Kind: entry.OpSum, Delta: n}, elements,
	}}
}

// factsOf returns the entries of some authors.
func factsOf(authors []*author) (all []Fact) {
	for _, a := range authors {
		all = append(all, a.facts...)
	}
	return all
}

// placesOf returns entries as vectors have them.
func placesOf(facts []Fact) (all []placed) {
	for _, f := range facts {
		all = append(all, placed{hex.EncodeToString(f.Log[:]), f.Seq,
			hex.EncodeToString(f.Entry.Append(nil))})
	}
	return all
}

func stateVectors(t *testing.T) (all []stateVector) {
	t.Helper()
	add := func(name string, authors ...*author) {
		v := stateVector{Name: name, Space: hex.EncodeToString(make([]byte, 32))}
		facts := factsOf(authors)
		v.Entries = placesOf(facts)
		root, err := Root(entry.Hash{}, &entry.Space{}, facts)
		if err != nil {
			t.Fatal(err)
		}
		v.Root = hex.EncodeToString(root[:])
		all = append(all, v)
	}
	a, b := begin(1), begin(2)
	add("no records", a)
	a.write(10, ops(5, false))
	add("one entry", a)
	b.write(20, ops(-3, true), a)
	add("an entry that has seen it", a, b)
	a.write(20, ops(7, false))
	add("a concurrent one of the same time", a, b)
	b.write(30, entry.Record{Delete: true})
	add("a deletion that has not seen all edits", a, b)
	b.write(40, entry.Record{Delete: true}, a)
	add("a deletion that has", a, b)
	b.write(50, entry.Record{})
	add("the record again", a, b)
	return all
}

func TestVectors_areTheStatesOfTheModel(t *testing.T) {
	golden.Compare(t, "states.json", stateVectors(t))
}
