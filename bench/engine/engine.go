// Package engine puts every database that the benchmark compares behind one small interface.
//
// An engine is one file with one type that implements [Store], and one entry in [All] for each of
// its settings. Loops over entries are written in the engine's own terms, inside the methods, so
// that no engine pays for an interface call per entry. Adapters do what the engine's documentation
// tells a user to do, copy nothing that need not be copied, and tune nothing.
//
// A Store is safe for concurrent use of Put and Copy, also while another goroutine calls Write;
// everything else is called by one goroutine at a time.
package engine

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// About describes one database in one setting.
type About struct {
	Name     string // as in the flag -engine; what follows a dash names the setting
	Module   string // path of the Go module, unless the engine is a library of the system
	Version  string // if it is not that of the module
	Settings string // every setting that is not the engine's default
	Extra    bool   // measured only if named
	Missing  string // why it cannot run here, and what to do; empty if it can
}

// Engine is one database in one setting, with the way to open it.
type Engine struct {
	About
	ValueFiles string // pattern of the files that hold values and no keys, if there are such
	Open       func(dir string, o Options) (Store, error)
}

// Options are what all engines are opened with.
type Options struct {
	Sync  bool  // a commit is durable before it returns
	Order Order // how sequence numbers become keys
	// Cache is how many bytes the engine may take for its caches, and as many for what it has not
	// written to its tables yet, if it would take more; or 0 for its defaults. It is at least
	// [LeastCache]. An engine that relies on the system's page cache alone has no such setting,
	// but does what it advises for more data than memory.
	Cache int64
}

// LeastCache is the least that every engine takes for [Options.Cache].
const LeastCache = 2 << 20

// Store is an open database. Every method is a transaction of its own.
type Store interface {
	// Append stores values, each under the next sequence number, in one transaction. The numbers
	// start with 0 and come from the database: from its own sequence if it has one, else from a
	// counter under a key of the adapter. The caller may reuse the values afterwards.
	Append(values [][]byte) error

	// Put stores one pair. A crowd is many goroutines that do so at once: an engine that has a
	// call for this occasion uses it.
	Put(key, value []byte, crowd bool) error

	// View starts a read transaction and ends it.
	View() error

	// Get reads one value in the engine's shortest way and returns its length.
	Get(key []byte) (int, error)

	// GetMany reads many values in one read transaction and returns the sum of their lengths. A
	// key without a value is an error.
	GetMany(keys [][]byte) (int, error)

	// Iterate seeks to start and steps over n entries from there; there must be as many. It looks
	// at no byte of the values unless it is to touch them.
	Iterate(start []byte, n int, touch bool) (Walk, error)

	// Write stores pairs and, for those whose value is nil, deletes what is under the key, in one
	// transaction. The caller may reuse keys and values afterwards.
	Write(pairs []Pair) error
	// Copy reads one value in a transaction of its own, and copies it over buf, which it may replace
	// by a longer one. An absent key is no error.
	Copy(key, buf []byte) (value []byte, found bool, err error)
	// CopyAll copies the first n entries, or all if there are fewer, one over the other: only their
	// keys if it is told so. Then the engine need not read values.
	CopyAll(n int, keysOnly bool) (Walk, error)
	// Each calls fn with every pair in key order. It is not measured, and need not be fast.
	Each(fn func(key, value []byte) error) error

	// Close writes out what is still in memory only, so that reopening finds everything.
	Close() error
}

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// Walk is what [Store.Iterate] or [Store.CopyAll] has seen.
type Walk struct {
	Entries int
	Bytes   int // of the values, and for CopyAll of the keys too
	Sum     int // of the [Touch] bytes, if they were to be touched
}

// Touch returns the byte in the middle of a value, or 0 if it is empty.
func Touch(value []byte) int {
	if len(value) == 0 {
		return 0
	}
	return int(value[len(value)/2])
}

// Order says how a sequence number becomes a key of [KeyBytes] bytes.
type Order string

const (
	BigEndian    Order = "be" // key order is the order of the numbers
	LittleEndian Order = "le" // consecutive numbers are scattered over the key space
)

// KeyBytes is the length of a key.
const KeyBytes = 8

// Put encodes a sequence number as a key.
func (o Order) Put(key []byte, sequence uint64) {
	if o == LittleEndian {
		binary.LittleEndian.PutUint64(key, sequence)
		return
	}
	binary.BigEndian.PutUint64(key, sequence)
}

// counterKey returns the key under which an adapter keeps the next sequence number if the engine
// has no sequence of its own. It sorts behind all keys of [KeyBytes] bytes.
func counterKey() []byte { return bytes.Repeat([]byte{0xff}, KeyBytes+1) }

// errShort is the error of an adapter's counter that has not the right length.
var errShort = errors.New("counter has not 8 bytes")

// counter decodes a value that was stored under [counterKey].
func counter(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, errShort
	}
	return binary.LittleEndian.Uint64(value), nil
}

// All returns every engine, in the order of the tables.
func All() []Engine {
	engines := stoatEngines()
	engines = append(engines, bboltEngines()...)
	engines = append(engines, badgerEngines()...)
	engines = append(engines, pebbleEngines()...)
	engines = append(engines, goleveldbEngine())
	engines = append(engines, sqliteEngines()...)
	return append(engines, lmdbEngine(), rocksdbEngine())
}

// Find returns the engine of the name, if it can run here.
func Find(name string) (Engine, error) {
	for _, e := range All() {
		switch {
		case e.Name != name:
		case e.Missing != "":
			return Engine{}, fmt.Errorf("engine %s: %s", name, e.Missing)
		default:
			return e, nil
		}
	}
	return Engine{}, fmt.Errorf("no engine %q", name)
}

// Choose returns those of the engines that can run here: the named ones or, without names, all but
// the extra ones. Missing says of the others why they cannot.
func Choose(all []About, names []string) (chosen []About, missing []string) {
	for _, e := range all {
		wanted := !e.Extra
		if names != nil {
			wanted = slices.Contains(names, e.Name)
		}
		switch {
		case !wanted:
		case e.Missing != "":
			missing = append(missing, fmt.Sprintf("%s is not measured: %s", e.Name, e.Missing))
		default:
			chosen = append(chosen, e)
		}
	}
	return chosen, missing
}

// Abouts returns the descriptions of all engines.
func Abouts() []About {
	var all []About
	for _, e := range All() {
		all = append(all, e.About)
	}
	return all
}

// copier copies entries one over the other.
type copier struct {
	buf  []byte
	walk Walk
}

func (c *copier) copy(key, value []byte) {
	c.buf = append(append(c.buf[:0], key...), value...)
	c.walk.Entries++
	c.walk.Bytes += len(c.buf)
}
