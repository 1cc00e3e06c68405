package feed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// consumeBatch is the number of entries that a consumer handles in a commit by default.
const consumeBatch = 256

// Options configures how a feed is used. Options are not stored: pass them to each [Open]. The zero
// value means the defaults.
type Options[T any] struct {
	// Sublogs maps the name of each sublog to a function that returns the addresses an entry
	// belongs to. The function must always return the same addresses for the same value, and must
	// not retain the value. A new sublog is built for all existing entries. To change what a
	// function returns, rename the sublog. All programs that append should have the same sublogs: a
	// sublog that lacks entries cannot be queried. The next Append of a feed with that sublog adds
	// them, unless more than 65,536 are missing; then it returns [ErrOutdated], and only Open adds
	// them.
	Sublogs map[string]func(*T) []string
	// Retention removes the oldest entries before the commit of a transaction that appended new ones.
	// Up to a sixteenth more than it allows may remain; [Feed.Retain] removes that, too.
	Retention Retention
	// Encoding chooses how values are stored; it cannot change once the feed exists.
	Encoding Encoding
	// Batch is the maximum number of entries that a consumer handles in a commit; 0 means 256.
	// Larger batches are faster; smaller ones let other writers in sooner.
	Batch int
	// Now returns the time; nil means time.Now. The times of entries never decrease, even if Now
	// does.
	Now func() time.Time
}

// Encoding chooses how the values of a feed are stored.
type Encoding uint8

const (
	// EncodingAuto stores structs in a binary form that identifies fields by name: fields can be
	// added and removed, and numbers made wider. It stores a []byte unchanged. Other types need
	// another encoding.
	EncodingAuto Encoding = iota
	// EncodingJSON stores values as encoding/json encodes them, for programs in other languages.
	EncodingJSON
)

// Retention limits what a feed keeps; a zero field means no limit. An entry is removed as soon as
// it exceeds one of the limits.
type Retention struct {
	// Age keeps entries appended at most this long ago. Because the times of entries never
	// decrease, a clock that was ahead once delays removal until the correct time catches up.
	Age   time.Duration
	Bytes int64 // keep the newest entries up to this total size of encoded values, as appended
	Count int64 // keep this many of the newest entries
}

// check returns an error if a limit is invalid.
func (r Retention) check() error {
	if r.Age < 0 || r.Bytes < 0 || r.Count < 0 {
		return errors.New("Options.Retention has a negative limit: use 0 for no limit")
	}
	return nil
}

// sublog is a sublog as the program defines it.
type sublog[T any] struct {
	name      string
	addresses func(*T) []string
}

// check returns an error if an option is invalid.
func (o *Options[T]) check() error {
	for name, fn := range o.Sublogs {
		if fn == nil || name == "" {
			return fmt.Errorf("Options.Sublogs has %q: a sublog needs a name and a function", name)
		}
	}
	if o.Batch < 0 {
		return errors.New("Options.Batch is negative: use 0 for the default")
	}
	return o.Retention.check()
}

// sorted returns the sublogs in the order of their names.
func (o *Options[T]) sorted() []sublog[T] {
	var all []sublog[T]
	for _, name := range slices.Sorted(maps.Keys(o.Sublogs)) {
		all = append(all, sublog[T]{name, o.Sublogs[name]})
	}
	return all
}
