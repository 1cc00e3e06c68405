package record

import "github.com/stoatdb/stoat/tuple"

// Options say how a collection stores its records. The zero value is the default.
type Options[T any] struct {
	// Codec is how records are encoded; CodecBinary by default. It stays what it was when the
	// collection was made.
	Codec Codec
	// Key returns the primary key of a record, of elements that package tuple has, instead of the
	// fields with the tag option key. Its result must depend on the record only, and stay the same
	// from one program to the next: Open compares it with the keys of the first and last record.
	Key func(*T) tuple.Tuple
	// Indexes are those with more than one field, besides the indexes that the tags of fields name.
	Indexes []Index
	// Version is the number of what the fields mean. It is raised together with a function in
	// Migrate; never lowered.
	Version int
	// Migrate has, for each earlier version that may be stored, the function that makes a record of
	// Version. It is called once for each record, when the collection is opened: new is what could
	// be decoded, the fields that type and record have in common; old has the others too, by all
	// names that they ever had. With a codec other than CodecBinary, new is zero if the old record
	// cannot be decoded into the type.
	Migrate map[int]func(old Row, new *T) error
}

// Index describes an index: records in the order of some fields, and of their keys where these are
// the same.
type Index struct {
	Name   string   // other than that of every other index
	Fields []string // as named in tags, with the names of the structs around them: "home.city"
	Unique bool     // no two records have the same values
}

// Key is the primary key of a record: a value of the kind of the key field, or a [tuple.Tuple] of
// such values if there are several. Integers of all types are one kind, and so are floats. For
// [View.Update] and [View.Delete] it is what a unique index has instead.
type Key any

// Value is a value of a field: a bool, a number, a string, []byte, [time.Time], an array of 16
// bytes, or of a type that is made of one of these. It is nil for a pointer that is nil.
type Value any
