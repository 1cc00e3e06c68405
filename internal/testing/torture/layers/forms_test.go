package layers

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// form is a type and a set of indexes that a program opens the collection with.
type form struct {
	rankings []ranking
	open     func(db *stoat.DB) (shelf, error)
	openTx   func(tx *stoat.Tx) (shelf, error)
}

// ranking is an index, and the model of its entries: texts in their order, each once.
type ranking struct {
	index   string
	entries func(person) []string
}

// shelf is an open collection, whatever its type.
type shelf interface {
	put(tx *stoat.Tx, p person) error
	insert(tx *stoat.Tx, p person) error
	update(tx *stoat.Tx, p person) error
	remove(tx *stoat.Tx, id int64) error
	Clear(tx *stoat.Tx) error
	Count(tx *stoat.Tx) (uint64, error)
	Verify(tx *stoat.Tx) error
	// ask returns the answer in the order of the question, or by key.
	ask(tx *stoat.Tx, q question) ([]person, error)
	// by returns all persons in the order of an index.
	by(tx *stoat.Tx, index string) ([]person, error)
	watch(ctx context.Context, db *stoat.DB, q question) iter.Seq2[news, error]
}

// news is what a commit has changed in the answer to a question.
type news struct {
	at                      stoat.Position
	added, changed, removed []person
}

const collectionName = "people"

// forms returns the forms by number.
func forms(codec record.Codec) []form {
	alone := []ranking{
		{"email", func(p person) []string { return []string{p.Email} }},
		{"age", func(p person) []string { return []string{digits(p.Age)} }},
		{"tags", func(p person) []string { return p.Tags }},
	}
	cityAge := ranking{"city", func(p person) []string {
		return []string{p.City + "\x00" + digits(p.Age)}
	}}
	cityEmail := ranking{"city", func(p person) []string {
		return []string{p.City + "\x00" + p.Email}
	}}
	tagsAge := ranking{"tagsAge", func(p person) (all []string) {
		for _, tag := range p.Tags {
			all = append(all, tag+"\x00"+digits(p.Age))
		}
		return all
	}}
	nick := ranking{"nick", func(p person) []string { return []string{p.Nick} }}
	byCityAge := record.Index{Name: "city", Fields: []string{"city", "age"}}
	toSelf := func(p *person) person { return *p }
	return []form{
		formPlain: newForm(codec, []record.Index{byCityAge}, append(alone, cityAge), toPerson,
			toStranger),
		formIndexed: newForm(codec, []record.Index{
			{Name: "city", Fields: []string{"city", "email"}, Unique: true},
			{Name: "tagsAge", Fields: []string{"tags", "age"}},
		}, append(alone, cityEmail, tagsAge), toPerson, toStranger),
		formNick: newForm(codec, []record.Index{byCityAge}, append(alone, cityAge, nick), toSelf,
			func(p person) *person { return &p }),
	}
}

func digits(n int32) string { return fmt.Sprintf("%03d", n) }

func newForm[T any](
	codec record.Codec, indexes []record.Index, rankings []ranking,
	widen func(*T) person, narrow func(person) *T,
) form {
	options := &record.Options[T]{Codec: codec, Indexes: indexes}
	wrap := func(c *record.Collection[T], err error) (shelf, error) {
		return collection[T]{c, widen, narrow}, err
	}
	return form{
		rankings: slices.Clone(rankings),
		open: func(db *stoat.DB) (shelf, error) {
			return wrap(record.Open(db, collectionName, options))
		},
		openTx: func(tx *stoat.Tx) (shelf, error) {
			return wrap(record.OpenTx(tx, collectionName, options))
		},
	}
}

// collection is a shelf of records of one type.
type collection[T any] struct {
	*record.Collection[T]
	widen  func(*T) person
	narrow func(person) *T
}

func (c collection[T]) put(tx *stoat.Tx, p person) error { return c.Put(tx, c.narrow(p)) }

func (c collection[T]) insert(tx *stoat.Tx, p person) error { return c.Insert(tx, c.narrow(p)) }

func (c collection[T]) update(tx *stoat.Tx, p person) error {
	return c.Update(tx, p.ID, func(old *T) error {
		*old = *c.narrow(p)
		return nil
	})
}

func (c collection[T]) remove(tx *stoat.Tx, id int64) error { return c.Delete(tx, id) }

// query returns the question as the collection asks it.
func (c collection[T]) query(q question) record.Query[T] {
	all := c.Query().Where(q.where...).Limit(q.limit)
	if len(q.order) > 0 {
		all = all.OrderBy(q.order...)
	}
	return all
}

func (c collection[T]) ask(tx *stoat.Tx, q question) ([]person, error) {
	all, err := c.read(c.query(q).All(tx))
	if len(q.order) == 0 {
		slices.SortFunc(all, func(a, b person) int { return cmp.Compare(a.ID, b.ID) })
	}
	return all, err
}

func (c collection[T]) by(tx *stoat.Tx, index string) ([]person, error) {
	return c.read(c.By(index).All(tx))
}

// read returns what a loop yields.
func (c collection[T]) read(loop iter.Seq2[*T, error]) ([]person, error) {
	var all []person
	for r, err := range loop {
		if err != nil {
			return all, err
		}
		all = append(all, c.widen(r))
	}
	return all, nil
}

func (c collection[T]) watch(
	ctx context.Context, db *stoat.DB, q question,
) iter.Seq2[news, error] {
	list := func(entries []record.Entry[T]) (all []person) {
		for _, e := range entries {
			all = append(all, c.widen(e.Record))
		}
		return all
	}
	return func(yield func(news, error) bool) {
		for ch, err := range c.Watch(ctx, db, c.query(q)) {
			n := news{ch.Position, list(ch.Added), list(ch.Changed), list(ch.Removed)}
			if !yield(n, err) {
				return
			}
		}
	}
}
