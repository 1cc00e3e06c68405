package layers

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/record"
)

// person is a record.
type person struct {
	ID    int64    `stoat:"id,key"`
	Email string   `stoat:"email,unique"`
	Age   int32    `stoat:"age,index"`
	Tags  []string `stoat:"tags,index"`
	City  string   `stoat:"city"`
	Note  string   `stoat:"note"`
	Nick  string   `stoat:"nick,index"`
}

// oldPerson is a person of an older program: without the field Nick. It is not embedded in person,
// because gob would store that differently.
type oldPerson struct {
	ID    int64    `stoat:"id,key"`
	Email string   `stoat:"email,unique"`
	Age   int32    `stoat:"age,index"`
	Tags  []string `stoat:"tags,index"`
	City  string   `stoat:"city"`
	Note  string   `stoat:"note"`
}

func toPerson(s *oldPerson) person {
	return person{ID: s.ID, Email: s.Email, Age: s.Age, Tags: s.Tags, City: s.City, Note: s.Note}
}

func toOldPerson(p person) *oldPerson {
	return &oldPerson{ID: p.ID, Email: p.Email, Age: p.Age, Tags: p.Tags, City: p.City, Note: p.Note}
}

func samePerson(a, b person) bool {
	return a.ID == b.ID && a.Email == b.Email && a.Age == b.Age && slices.Equal(a.Tags, b.Tags) &&
		a.City == b.City && a.Note == b.Note && a.Nick == b.Nick
}

// randomPerson returns a person whose values are often those of another.
func randomPerson(rng *rand.Rand, id int64) person {
	p := person{
		ID: id, Email: fmt.Sprintf("%d@%d", id, rng.IntN(3)), Age: rng.Int32N(10),
		City: []string{"", "bonn", "ulm", "ulmen"}[rng.IntN(4)],
		Nick: []string{"", "al", "bo"}[rng.IntN(3)],
	}
	if rng.IntN(10) == 0 {
		p.Email = fmt.Sprintf("%d@%d", rng.IntN(personIDs), rng.IntN(3)) // may be a duplicate
	}
	for range rng.IntN(4) {
		p.Tags = append(p.Tags, []string{"", "a", "b", "ab"}[rng.IntN(4)])
	}
	if p.Note = fmt.Sprint(rng.Uint64()); rng.IntN(4) == 0 {
		p.Note = strings.Repeat(p.Note, 1+rng.IntN(20))
	}
	return p
}

// personIDs is how many keys there are.
const personIDs = 25

// The schemas of the collection.
const (
	neverOpened = iota - 1 // the state before the first open
	schemaPlain
	schemaIndexed // has other indexes
	schemaNick    // has the field Nick
	schemaCount
)

// collectionModel is the model of a collection.
type collectionModel struct {
	schema int
	rows   map[int64]person // with all fields, even those the current schema lacks
}

func (m *collectionModel) clone() *collectionModel {
	return &collectionModel{m.schema, maps.Clone(m.rows)}
}

// visible returns a person as the current schema shows it.
func (m *collectionModel) visible(p person) person {
	if m.schema != schemaNick {
		p.Nick = ""
	}
	return p
}

// duplicate reports whether another person has p's value of a unique index.
func (m *collectionModel) duplicate(p person) bool {
	for id, other := range m.rows {
		if id != p.ID && other.Email == p.Email {
			return true
		}
	}
	return false
}

// all returns all persons by key, as the current schema shows them.
func (m *collectionModel) all() []person {
	var all []person
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		all = append(all, m.visible(m.rows[id]))
	}
	return all
}

// recordQuery is a query that both the collection and the model answer.
type recordQuery struct {
	name    string
	where   []record.Predicate
	matches func(person) bool
	order   []string // the fields to sort by; in any order if empty
	by      func(a, b person) int
	limit   int
	nick    bool // needs schemaNick
}

// recordQueries returns queries that use all kinds of indexes.
func recordQueries() []recordQuery {
	byAge := func(a, b person) int { return cmp.Compare(a.Age, b.Age) }
	return []recordQuery{
		{name: "all"},
		{
			name:  "unique",
			where: []record.Predicate{record.In("email", "3@0", "3@1", "7@2", "nobody")},
			matches: func(p person) bool {
				return slices.Contains([]string{"3@0", "3@1", "7@2"}, p.Email)
			},
		},
		{
			name:    "range",
			where:   []record.Predicate{record.Between("age", 3, 7)},
			matches: func(p person) bool { return p.Age >= 3 && p.Age <= 7 },
			order:   []string{"age"}, by: byAge,
		},
		{
			name: "element", where: []record.Predicate{record.Has("tags", "b")},
			matches: func(p person) bool { return slices.Contains(p.Tags, "b") },
		},
		{
			name:    "composite",
			where:   []record.Predicate{record.Eq("city", "ulm"), record.Ge("age", 4)},
			matches: func(p person) bool { return p.City == "ulm" && p.Age >= 4 },
			order:   []string{"city", "age"}, by: byAge,
		},
		{
			name:    "element and range",
			where:   []record.Predicate{record.Has("tags", "a"), record.Lt("age", 6)},
			matches: func(p person) bool { return slices.Contains(p.Tags, "a") && p.Age < 6 },
		},
		{name: "youngest", order: []string{"age"}, by: byAge, limit: 5},
		{
			name: "nick", where: []record.Predicate{record.Eq("nick", "al")}, nick: true,
			matches: func(p person) bool { return p.Nick == "al" },
		},
	}
}

// answer returns the result of a query, in its order or by key.
func (m *collectionModel) answer(q recordQuery) []person {
	all := m.all()
	if q.matches != nil {
		all = slices.DeleteFunc(all, func(p person) bool { return !q.matches(p) })
	}
	if q.by != nil {
		slices.SortStableFunc(all, q.by)
	}
	if q.limit > 0 {
		all = all[:min(q.limit, len(all))]
	}
	return all
}
