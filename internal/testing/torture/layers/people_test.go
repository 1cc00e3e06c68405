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

// person is a record. Stranger is what an older program has of one.
type person struct {
	ID    int64    `stoat:"id,key"`
	Email string   `stoat:"email,unique"`
	Age   int32    `stoat:"age,index"`
	Tags  []string `stoat:"tags,index"`
	City  string   `stoat:"city"`
	Note  string   `stoat:"note"`
	Nick  string   `stoat:"nick,index"`
}

// stranger is a person without the nick name. It is no part of person: gob would store that apart.
type stranger struct {
	ID    int64    `stoat:"id,key"`
	Email string   `stoat:"email,unique"`
	Age   int32    `stoat:"age,index"`
	Tags  []string `stoat:"tags,index"`
	City  string   `stoat:"city"`
	Note  string   `stoat:"note"`
}

func toPerson(s *stranger) person {
	return person{ID: s.ID, Email: s.Email, Age: s.Age, Tags: s.Tags, City: s.City, Note: s.Note}
}

func toStranger(p person) *stranger {
	return &stranger{ID: p.ID, Email: p.Email, Age: p.Age, Tags: p.Tags, City: p.City, Note: p.Note}
}

func samePerson(a, b person) bool {
	return a.ID == b.ID && a.Email == b.Email && a.Age == b.Age && slices.Equal(a.Tags, b.Tags) &&
		a.City == b.City && a.Note == b.Note && a.Nick == b.Nick
}

// randomPerson returns a person with values that often are those of another.
func randomPerson(rng *rand.Rand, id int64) person {
	p := person{
		ID: id, Email: fmt.Sprintf("%d@%d", id, rng.IntN(3)), Age: rng.Int32N(10),
		City: []string{"", "bonn", "ulm", "ulmen"}[rng.IntN(4)],
		Nick: []string{"", "al", "bo"}[rng.IntN(3)],
	}
	if rng.IntN(10) == 0 {
		p.Email = fmt.Sprintf("%d@%d", rng.IntN(personIDs), rng.IntN(3)) // perhaps a duplicate
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

// The forms that the collection may have: what it was last opened with.
const (
	unmade = iota - 1 // there is none
	formPlain
	formIndexed // has other indexes
	formNick    // has a field more
	formCount
)

// people is the model of a collection.
type people struct {
	form int
	rows map[int64]person // with nick names that the present form may not see
}

func (m *people) clone() *people { return &people{m.form, maps.Clone(m.rows)} }

// visible returns what the present form sees of a person.
func (m *people) visible(p person) person {
	if m.form != formNick {
		p.Nick = ""
	}
	return p
}

// duplicate reports whether p would have what is another's in a unique index.
func (m *people) duplicate(p person) bool {
	for id, other := range m.rows {
		if id != p.ID && other.Email == p.Email {
			return true
		}
	}
	return false
}

// all returns all persons by key, as the present form sees them.
func (m *people) all() []person {
	var all []person
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		all = append(all, m.visible(m.rows[id]))
	}
	return all
}

// question is a query, and how the model answers it.
type question struct {
	name  string
	where []record.Predicate
	lets  func(person) bool
	order []string // the fields to sort by; none is any order
	by    func(a, b person) int
	limit int
	nick  bool // only formNick has the field
}

// questions returns queries that need all kinds of indexes.
func questions() []question {
	byAge := func(a, b person) int { return cmp.Compare(a.Age, b.Age) }
	return []question{
		{name: "all"},
		{
			name:  "unique",
			where: []record.Predicate{record.In("email", "3@0", "3@1", "7@2", "nobody")},
			lets: func(p person) bool {
				return slices.Contains([]string{"3@0", "3@1", "7@2"}, p.Email)
			},
		},
		{
			name:  "range",
			where: []record.Predicate{record.Between("age", 3, 7)},
			lets:  func(p person) bool { return p.Age >= 3 && p.Age <= 7 },
			order: []string{"age"}, by: byAge,
		},
		{
			name: "element", where: []record.Predicate{record.Has("tags", "b")},
			lets: func(p person) bool { return slices.Contains(p.Tags, "b") },
		},
		{
			name:  "composite",
			where: []record.Predicate{record.Eq("city", "ulm"), record.Ge("age", 4)},
			lets:  func(p person) bool { return p.City == "ulm" && p.Age >= 4 },
			order: []string{"city", "age"}, by: byAge,
		},
		{
			name:  "element and range",
			where: []record.Predicate{record.Has("tags", "a"), record.Lt("age", 6)},
			lets:  func(p person) bool { return slices.Contains(p.Tags, "a") && p.Age < 6 },
		},
		{name: "youngest", order: []string{"age"}, by: byAge, limit: 5},
		{
			name: "nick", where: []record.Predicate{record.Eq("nick", "al")}, nick: true,
			lets: func(p person) bool { return p.Nick == "al" },
		},
	}
}

// answer returns the persons that a question asks for, in its order or by key.
func (m *people) answer(q question) []person {
	all := m.all()
	if q.lets != nil {
		all = slices.DeleteFunc(all, func(p person) bool { return !q.lets(p) })
	}
	if q.by != nil {
		slices.SortStableFunc(all, q.by)
	}
	if q.limit > 0 {
		all = all[:min(q.limit, len(all))]
	}
	return all
}
