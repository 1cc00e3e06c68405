package layers

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// schema is a record type and its indexes, as one program opens the collection.
type schema struct {
	indexes []indexModel
	open    func(db *stoat.DB) (anyCollection, error)
	openTx  func(tx *stoat.Tx) (anyCollection, error)
}

// indexModel is the model of an index: its entries as texts, in order and without duplicates.
type indexModel struct {
	index   string
	entries func(person) []string
}

const collectionName = "people"

// schemas returns the schemas by number.
func schemas(codec record.Codec) []schema {
	alone := []indexModel{
		{"email", func(p person) []string { return []string{p.Email} }},
		{"age", func(p person) []string { return []string{digits(p.Age)} }},
		{"tags", func(p person) []string { return p.Tags }},
	}
	cityAge := indexModel{"city", func(p person) []string {
		return []string{p.City + "\x00" + digits(p.Age)}
	}}
	cityEmail := indexModel{"city", func(p person) []string {
		return []string{p.City + "\x00" + p.Email}
	}}
	tagsAge := indexModel{"tagsAge", func(p person) (all []string) {
		for _, tag := range p.Tags {
			all = append(all, tag+"\x00"+digits(p.Age))
		}
		return all
	}}
	nick := indexModel{"nick", func(p person) []string { return []string{p.Nick} }}
	byCityAge := record.Index{Name: "city", Fields: []string{"city", "age"}}
	toSelf := func(p *person) person { return *p }
	return []schema{
		schemaPlain: newSchema(codec, []record.Index{byCityAge}, append(alone, cityAge), toPerson,
			toOldPerson),
		schemaIndexed: newSchema(codec, []record.Index{
			{Name: "city", Fields: []string{"city", "email"}, Unique: true},
			{Name: "tagsAge", Fields: []string{"tags", "age"}},
		}, append(alone, cityEmail, tagsAge), toPerson, toOldPerson),
		schemaNick: newSchema(codec, []record.Index{byCityAge}, append(alone, cityAge, nick), toSelf,
			func(p person) *person { return &p }),
	}
}

func digits(n int32) string { return fmt.Sprintf("%03d", n) }

func newSchema[T any](
	codec record.Codec, indexes []record.Index, models []indexModel,
	widen func(*T) person, narrow func(person) *T,
) schema {
	options := &record.Options[T]{Codec: codec, Indexes: indexes}
	wrap := func(c *record.Collection[T], err error) (anyCollection, error) {
		return typedCollection[T]{c, widen, narrow}, err
	}
	return schema{
		indexes: slices.Clone(models),
		open: func(db *stoat.DB) (anyCollection, error) {
			return wrap(record.Open(db, collectionName, options))
		},
		openTx: func(tx *stoat.Tx) (anyCollection, error) {
			return wrap(record.OpenTx(tx, collectionName, options))
		},
	}
}
