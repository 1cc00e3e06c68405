package feed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// consumeBatch is how many entries a consumer handles in a commit if [Options.Batch] is 0.
const consumeBatch = 256

// Options are how a feed is used. They are not stored: each [Open] states them anew. The zero value
// is the default.
type Options[T any] struct {
	// Sublogs are functions that return the addresses an entry belongs to, by the sublog's name. A
	// function must always return the same for the same value, and must not keep it. A sublog that
	// is new is made for all the entries that there are. To change what a function returns, give
	// the sublog another name. All programs that append should have the same sublogs: one cannot be
	// queried while it lacks entries, and the next Append that has it adds them first, or returns
	// [ErrOutdated] if they are more than 65,536, which only Open adds.
	Sublogs map[string]func(*T) []string
	// Retention removes the oldest entries as new ones are appended.
	Retention Retention
	// Encoding is how values are stored; it cannot change once the feed exists.
	Encoding Encoding
	// Batch is how many entries a consumer handles in a commit at most; 0 = 256. More are faster,
	// fewer let other writers in earlier.
	Batch int
	// Now returns the time; nil = time.Now. Entries never go back in time, even if it does.
	Now func() time.Time
}

// Encoding is how the values of a feed are stored.
type Encoding uint8

const (
	// EncodingAuto stores structs in a binary form that knows their fields by name: fields may come
	// and go, and numbers become wider. A []byte is stored as it is. Other types need another
	// encoding.
	EncodingAuto Encoding = iota
	// EncodingJSON stores what encoding/json makes of a value, for programs in other languages.
	EncodingJSON
)

// Retention says what to keep of a feed; a field that is 0 is no limit. What one of them does not
// keep is removed.
type Retention struct {
	// Age is that of entries that were appended at most so long ago. As entries never go back in
	// time, a clock that was once ahead holds this back until the right time has caught up with it.
	Age   time.Duration
	Bytes int64 // the newest entries whose encoded values, as appended, have so many bytes
	Count int64 // so many of the newest entries
}

// check returns what is wrong with it.
func (r Retention) check() error {
	if r.Age < 0 || r.Bytes < 0 || r.Count < 0 {
		return errors.New("a limit of the retention is negative: use 0 for none")
	}
	return nil
}

// sublog is a sublog as the program has it.
type sublog[T any] struct {
	name      string
	addresses func(*T) []string
}

// check returns what is wrong with the options.
func (o *Options[T]) check() error {
	for name, fn := range o.Sublogs {
		if fn == nil || name == "" {
			return fmt.Errorf("sublog %q: it needs a name and a function", name)
		}
	}
	if o.Batch < 0 {
		return errors.New("a batch of less than no entries: use 0 for the default")
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
