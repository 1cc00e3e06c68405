// Package table is sorted tables: immutable files of entries in key order.
//
// A [Writer] writes one, a [Table] looks keys up in it, a [Cursor] walks it, and a [Cache] bounds
// the memory that all of them keep decoded blocks in. The file, with all integers little-endian, is
//
//	header            48 bytes: what file this is
//	value blocks      one after the other, as in package block
//	key section       the key part of each block, one after the other
//	filter            optional, as in package filter
//	index
//	  fences          u64 a block: 8 bytes of its first key, after its span's prefix
//	  places          u32, u32 a block: the lengths of its value block and its key part,
//	                  u32, u32: the checksums that those end with
//	  spans           u32, u32, u32 each: first block, prefix length, length of the first key
//	  span keys       the first keys of the spans' first blocks, one after the other
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
// Every byte is verified by a checksum when it is first brought in. Tables and caches are safe for
// concurrent use, writers and cursors are not. Nothing needs to be closed: a file is let go when
// its Table, and all cursors on it, are unreachable. The package knows nothing of other tables,
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
	// Whole has all of the file read into memory when it is opened, in place of a map, and kept
	// there, whatever the cache's limit: a small file that is sure to be used is ready sooner so.
	Whole bool

	Dictionaries []*block.Dictionary // of its blocks
}

// Table reads one table file. The file is opened by the first use. Safe for concurrent use.
type Table struct {
	config Config
	reader atomic.Pointer[reader] // nil until first used
	mu     sync.Mutex             // held while the file is opened
}

// New returns a table without touching its file.
func New(c Config) *Table { return &Table{config: c} }

// Find returns the entry of key; ok is false if there is none, and after an error. The value may be
// encoded, as [keyspace.Entry] says, and part of a memory map: it must not be modified, nor used
// when t is unreachable. Find allocates nothing if the block is in memory. It does not ask the
// filter: it is for tables that are likely to have the key.
func (t *Table) Find(key []byte) (e keyspace.Entry, ok bool, err error) {
	r, err := t.opened()
	if err != nil {
		return keyspace.Entry{}, false, err
	}
	e, ok, err = r.find(key)
	runtime.KeepAlive(r) // and with it the map, until nothing looks into it any more
	return e, ok, err
}

// FindHashed is Find of a key whose [filter.Hash] is hash. It asks the filter first, if there is
// one.
func (t *Table) FindHashed(key []byte, hash uint64) (e keyspace.Entry, ok bool, err error) {
	r, err := t.opened()
	if err != nil {
		return keyspace.Entry{}, false, err
	}
	if ok, err = r.mayContain(hash); ok {
		e, ok, err = r.find(key)
	}
	runtime.KeepAlive(r)
	return e, ok, err
}

// Blocks returns which blocks may have keys in [lower, upper): those from first on, before end. It
// reads none of them.
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

// Open opens the file now, so that the table stays readable when the file is removed.
func (t *Table) Open() error {
	_, err := t.opened()
	return err
}

// opened returns the reader, opening the file if that has not been done yet.
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
	r, err := openReader(t.config)
	if errors.Is(err, fs.ErrNotExist) {
		err = corrupt.New(t.config.Path, 0, "the file is missing; restore it from a copy")
	}
	if err != nil {
		return nil, fmt.Errorf("open table %06d: %w", t.config.Number, err)
	}
	t.reader.Store(r)
	return r, nil
}
