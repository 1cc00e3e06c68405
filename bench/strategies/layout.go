package strategies

import "fmt"

// Strategy is a way to lay records out in a key-value database.
type Strategy struct {
	Name  string
	About string
	make  func(s *Schema) layout
}

// strategyRecord is the name of the strategy that only Stoat has.
const strategyRecord = "record"

// Strategies returns the strategies that take records of any schema, on any engine, in the order of
// the report.
func Strategies() []Strategy {
	one := func(c func(s *Schema) codec) func(s *Schema) layout {
		return func(s *Schema) layout { return &onePair{codec: c(s)} }
	}
	return []Strategy{
		{"binary", "a pair a record, its fields one behind the other", one(newBinary)},
		{"binary+names", "the same, with the name before each field", one(newNamed)},
		{"json", "a pair a record, by encoding/json", one(newJSON)},
		{"gob", "a pair a record, by encoding/gob, each with its type", one(newGob)},
		{"multikv", "a pair a field, the name behind the record's key", newMultiKV},
		{"nested", "a bucket a record, with a pair a field", newNested},
	}
}

// forUsers returns all strategies that take users, in the order of the report.
func forUsers() []Strategy {
	return append(Strategies(),
		Strategy{strategyRecord, "a collection of Stoat's package record", newRecords})
}

// on reports whether the engine has the strategy.
func (s Strategy) on(engine string) bool { return s.Name != strategyRecord || engine == "stoat" }

// findStrategy returns the strategy of the name.
func findStrategy(name string) (Strategy, error) {
	for _, s := range forUsers() {
		if s.Name == name {
			return s, nil
		}
	}
	return Strategy{}, fmt.Errorf("no strategy %q", name)
}

// layout stores records of one schema, under numbers, in a bucket. It is used by one goroutine at a
// time. Records that it reads into have zero values before. Of each method the way is the cheapest
// that the layout has.
type layout interface {
	// write stores a record under a new number.
	write(b Bucket, id int, r Record) error
	read(b Bucket, id int, into Record) error
	// readMany reads consecutive records.
	readMany(b Bucket, first int, into []Record) error
	// update sets one field of a record to that of another one.
	update(b Bucket, id, field int, from Record) error
	// sum adds up a field of all records, of which there are n, numbered from 0.
	sum(b Bucket, n, field int) (float64, error)
}

// preparer is a layout that has something of its own to open in a database before it is used there.
type preparer interface {
	prepare(db DB) error
}

// missing is the error of a record that is not there.
func missing(id int) error { return fmt.Errorf("record %d is missing", id) }
