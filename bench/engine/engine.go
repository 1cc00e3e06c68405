// Package engine puts every database that the benchmark compares behind one small interface.
//
// An engine is one file with one type that implements [Store], and one entry in [All] for each of
// its settings. Loops over entries are written in the engine's own terms, inside the methods, so no
// engine pays for an interface call per entry. Adapters do what the engine's documentation
// recommends, copy nothing unnecessarily, and tune nothing.
//
// Put and Copy of a Store are safe for concurrent use, also while another goroutine calls Write;
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
	Name     string // as in the flag -engine; the part after a dash names the setting
	Module   string // path of the Go module; empty if the engine is a system library
	Version  string // if not the module's version
	Settings string // every setting that is not the engine's default
	Extra    bool   // measured only if named
	Missing  string // why it cannot run here, and what to do; empty if it can
}

// Engine is one database in one setting.
type Engine struct {
	About
	ValueFiles string // pattern of the files that hold values but no keys; may be empty
	Open       func(dir string, o Options) (Store, error)
}

// Options are the options that all engines are opened with.
type Options struct {
	Sync  bool  // commits are durable when they return
	Order Order // how sequence numbers become keys
	// Cache limits the engine's caches to so many bytes, and its memtables to as many if they would
	// take more; 0 leaves its defaults. It is at least [LeastCache]. An engine that relies only on the
	// system's page cache has no such setting.
	Cache int64
	// LittleMemory says that there is less memory than data. An engine follows its own advice for
	// that, if it has any.
	LittleMemory bool
}

// LeastCache is the smallest [Options.Cache] that every engine accepts.
const LeastCache = 2 << 20

// Store is an open database. Each method is its own transaction.
type Store interface {
	// Append stores values under the next sequence numbers in one transaction. The numbers start at 0
	// and come from the database: from its own sequence if it has one, otherwise from a counter under
	// one of the adapter's keys. The caller may reuse the values afterwards.
	Append(values [][]byte) error

	// Put stores one pair. With many writers, an engine uses the call that it has for this purpose.
	Put(key, value []byte, writers Writers) error

	// View begins and ends a read transaction.
	View() error

	// Get reads one value in the engine's shortest way and returns its length.
	Get(key []byte) (int, error)

	// GetMany reads many values in one read transaction and returns the sum of their lengths. An
	// absent key is an error.
	GetMany(keys [][]byte) (int, error)

	// Iterate seeks to start and steps over n entries, which must exist. It reads no byte of the
	// values unless it is to touch them.
	Iterate(start []byte, n int, look Look) (Walk, error)

	// Write stores pairs in one transaction. A pair with a nil value deletes the key. The caller may
	// reuse keys and values afterwards.
	Write(pairs []Pair) error
	// Copy reads one value in its own transaction and copies it to buf, or to a longer buffer that it
	// returns instead. An absent key is not an error.
	Copy(key, buf []byte) (value []byte, found bool, err error)
	// CopyAll copies the first n entries, or all if there are fewer, each over the previous one.
	CopyAll(n int, part Part) (Walk, error)
	// Each calls fn with every pair in key order. It is not measured and need not be fast.
	Each(fn func(key, value []byte) error) error

	// Close writes out what is only in memory: reopening finds everything.
	Close() error
}

// Memory is implemented by stores whose engine tells what its memory is used for.
type Memory interface {
	// Memory returns the bytes of memtables, and of the cache of blocks.
	Memory() (memtables, cache int64)
}

// Writers says how many goroutines put at the same time.
type Writers bool

const (
	OneWriter   Writers = false // one at a time
	ManyWriters Writers = true  // many at once
)

// Look says what [Store.Iterate] reads of each value.
type Look bool

const (
	ReadLengths Look = false // only its length
	TouchValues Look = true  // also its [Touch] byte
)

// Part says what [Store.CopyAll] copies.
type Part bool

const (
	KeysAndValues Part = false // whole pairs
	KeysOnly      Part = true  // the engine need not read values
)

// Pair is a key and its value.
type Pair struct{ Key, Value []byte }

// Walk is what [Store.Iterate] or [Store.CopyAll] saw.
type Walk struct {
	Entries int
	Bytes   int // of the values and, for CopyAll, the keys
	Sum     int // of the [Touch] bytes, if touched
}

// Touch returns the byte in the middle of a value, or 0 if it is empty.
func Touch(value []byte) int {
	if len(value) == 0 {
		return 0
	}
	return int(value[len(value)/2])
}

// Order determines how a sequence number becomes a key of [KeyBytes] bytes.
type Order string

const (
	BigEndian    Order = "be" // keys sort by number
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
// has no sequences. It sorts after all keys of [KeyBytes] bytes.
func counterKey() []byte { return bytes.Repeat([]byte{0xff}, KeyBytes+1) }

// errShort is the error for a stored counter of the wrong length.
var errShort = errors.New("counter does not have 8 bytes")

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

// Find returns the engine with the name, if it can run here.
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

// Choose returns the engines that can run here: those named or, without names, all except the extra
// ones. missing says why the others cannot.
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

// copier copies entries, each over the previous one.
type copier struct {
	buf  []byte
	walk Walk
}

func (c *copier) copy(key, value []byte) {
	c.buf = append(append(c.buf[:0], key...), value...)
	c.walk.Entries++
	c.walk.Bytes += len(c.buf)
}
