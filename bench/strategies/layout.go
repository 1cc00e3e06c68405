package strategies

import "fmt"

// Strategy is a way to lay out records in a key-value database.
type Strategy struct {
	Name  string
	About string
	make  func(s *Schema) layout
}

// strategyRecord is the name of the strategy that only Stoat has.
const strategyRecord = "record"

// Strategies returns the strategies that work with any schema on any engine, in the order of the
// report.
func Strategies() []Strategy {
	one := func(c func(s *Schema) codec) func(s *Schema) layout {
		return func(s *Schema) layout { return &onePair{codec: c(s)} }
	}
	return []Strategy{
		{"binary", "one pair per record, its fields concatenated", one(newBinary)},
		{"binary+names", "the same, with the name before each field", one(newNamed)},
		{"json", "one pair per record, by encoding/json", one(newJSON)},
		{"gob", "one pair per record, by encoding/gob, each with its type", one(newGob)},
		{"multikv", "one pair per field, its name after the record's key", newMultiKV},
		{"nested", "one bucket per record, one pair per field", newNested},
	}
}

// forUsers returns all strategies that work with users, in the order of the report.
func forUsers() []Strategy {
	return append(Strategies(),
		Strategy{strategyRecord, "a collection of Stoat's package record", newRecords})
}

// on reports whether the strategy works on the engine.
func (s Strategy) on(engine string) bool { return s.Name != strategyRecord || engine == "stoat" }

// findStrategy returns the strategy with the name.
func findStrategy(name string) (Strategy, error) {
	for _, s := range forUsers() {
		if s.Name == name {
			return s, nil
		}
	}
	return Strategy{}, fmt.Errorf("no strategy %q", name)
}

// layout stores records of one schema, by number, in a bucket. It is used by one goroutine at a
// time. Records to read into are zero before. Each method does its job in the cheapest way that the
// layout has.
type layout interface {
	// write stores a record under a new number.
	write(b Bucket, id int, r Record) error
	read(b Bucket, id int, into Record) error
	// readMany reads consecutive records.
	readMany(b Bucket, first int, into []Record) error
	// update sets one field of a record to the same field of another one.
	update(b Bucket, id, field int, from Record) error
	// sum adds up a field of all n records, which are numbered from 0.
	sum(b Bucket, n, field int) (float64, error)
}

// preparer is a layout that must open something in a database before it is used there.
type preparer interface {
	prepare(db DB) error
}

// missing is the error for an absent record.
func missing(id int) error { return fmt.Errorf("record %d is missing", id) }
