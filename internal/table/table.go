// Package table reads and writes sorted tables: immutable files of entries in key order.
//
// A [Writer] writes a table, a [Table] looks keys up in it, a [Cursor] walks it, and a [Cache]
// bounds the memory that all tables keep blocks in. The file, with all integers little-endian, is
//
//	header            48 bytes: what file this is
//	value blocks      one after another, as in package block
//	key section       the key part of each block, one after another
//	filter            optional, as in package filter
//	index
//	  fences          u64 per block: 8 bytes of its first key, after its span's prefix
//	  places          u32, u32 per block: the lengths of its value block and its key part,
//	                  u32, u32: the checksums that those end with
//	  spans           u32, u32, u32 each: first block, prefix length, length of the first key
//	  span keys       the first keys of the spans' first blocks, one after another
//	  properties      32 bytes: u64 entries, u64 tombstones, u64 bytes of keys and values,
//	                  u64 flags: 1 if any block is compressed
//	footer            88 bytes: where the sections are, and the checksums of filter and index
//
// The header is that of package fileheader, and the footer starts with the same 40 bytes. A fence
// is a big-endian integer, padded with zeros. Blocks whose first keys have a long prefix in common
// form a span, so that the 8 bytes after the prefix tell them apart; a table has one span, except
// where keys of different shapes meet. A lookup finds the span, the block by the fences, the entry
// by the block's key part, and only then touches a value.
//
// Blocks are read through a map where the platform has one, in place if they are not compressed.
// Every byte is verified by a checksum when it is first loaded. Tables and caches are safe for
// concurrent use, writers and cursors are not. Nothing needs to be closed: a file is released when
// its Table and all cursors on it are unreachable. The package knows nothing about other tables,
// chooses no sizes, and interprets no keys.
package table

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Config says which file a table is.
type Config struct {
	FS       vfs.Files
	Path     string
	Number   uint64
	Database [16]byte
	Size     int64 // the file's length, as the writer's Summary has it
	Cache    *Cache
	// Whole makes the table read the whole file into memory when it opens it, instead of mapping
	// it, and keep it there whatever the cache's limit. A small file that is sure to be used is
	// ready sooner that way.
	Whole bool
	// Claim is the name of the file that says that the folder is that of a database in object
	// storage; it is empty if there is none.
	Claim string

	Dictionaries []*block.Dictionary // of its blocks
}

// Table reads one table file. Its first use opens the file. Safe for concurrent use.
type Table struct {
	config Config
	reader atomic.Pointer[reader] // nil until first used
	mu     sync.Mutex             // held while the file is opened
}

// New returns a table and does not touch its file.
func New(c Config) *Table { return &Table{config: c} }

// Find sets e to the entry of key; ok is false if there is none, and after an error. The value may
// be encoded, as [keyspace.Entry] says, and part of a memory map: it must not be modified, nor used
// when t is unreachable. Find allocates nothing if the block is in memory. It does not ask the
// filter: it is for tables that are likely to have the key. f moves to the entry that was found.
func (t *Table) Find(key []byte, f *Finger, e *keyspace.Entry) (ok bool, err error) {
	r, err := t.opened()
	if err != nil {
		return false, err
	}
	ok, err = r.find(key, f, e)
	runtime.KeepAlive(r) // and with it the map, until nothing looks into it any more
	return ok, err
}

// FindHashed is Find of a key whose [filter.Hash] is hash. It asks the filter first, if there is
// one.
func (t *Table) FindHashed(
	key []byte, hash uint64, e *keyspace.Entry,
) (ok bool, err error) {
	r, err := t.opened()
	if err != nil {
		return false, err
	}
	if ok, err = r.mayContain(hash); ok {
		ok, err = r.find(key, nil, e)
	}
	runtime.KeepAlive(r)
	return ok, err
}

// Blocks returns which blocks may have keys in [lower, upper): those in [first, end). It reads none
// of them.
func (t *Table) Blocks(lower, upper []byte) (first, end int, err error) {
	r, err := t.opened()
	if err != nil {
		return 0, 0, err
	}
	first, end = max(r.index.search(lower), 0), r.index.search(upper)+1
	runtime.KeepAlive(r)
	return first, end, nil
}

// FirstKey returns the first key of block b, which is valid forever.
func (t *Table) FirstKey(b int) ([]byte, error) {
	var c Cursor
	if c.Init(t, &Scope{Read: ReadKeys}); !c.open() || !c.enter(b, keyspace.Forward) {
		return nil, c.Err()
	}
	return c.Key(), nil
}

// Open opens the file now. From then on the table stays readable even if the file is removed.
func (t *Table) Open() error {
	_, err := t.opened()
	return err
}

// Forget takes the table out of memory: its blocks out of the cache, and its map, as far as the
// system allows. Later reads load it again. It reports whether the table was open; if not, nothing
// of it is in memory.
func (t *Table) Forget() bool {
	r := t.reader.Load()
	if r == nil {
		return false
	}
	r.hold.forget()
	r.unload()
	runtime.KeepAlive(r)
	return true
}

// Clear empties the table's slots after [Cache.Clear], for a cache that is hardly used any more.
// Units that are on their way into the cache may stay in it until they are evicted.
func (t *Table) Clear() {
	if r := t.reader.Load(); r != nil {
		for i := range r.slots {
			r.slots[i].clear()
		}
	}
}

// opened returns the reader, and opens the file on first use.
func (t *Table) opened() (*reader, error) {
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	return t.open()
}

func (t *Table) open() (*reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.reader.Load(); r != nil {
		return r, nil
	}
	r, err := t.load()
	if err != nil {
		return nil, err
	}
	t.reader.Store(r)
	return r, nil
}

// load opens the file, whether or not it is open.
func (t *Table) load() (*reader, error) {
	r, err := openReader(t.config)
	if errors.Is(err, fs.ErrNotExist) {
		err = corrupt.Missing(t.config.Path, t.config.Claim)
	}
	if err != nil {
		return nil, fmt.Errorf("open table %06d: %w", t.config.Number, err)
	}
	return r, nil
}
