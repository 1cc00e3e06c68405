package table

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sort"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Verification is the callbacks of [Table.Verify].
type Verification struct {
	// Damage is called with each thing that is wrong.
	Damage func(err error)
	// Entry is called with each entry that can be read, in order, with its value decoded. Key and
	// value are valid only during the call. An error is damage in the entry's block.
	Entry func(key []byte, e keyspace.Entry) error
	// Read is called with how many bytes of the file were verified since the last call. An error
	// ends Verify.
	Read func(bytes uint64) error
}

// Verify reads the whole file, whatever was read and verified before, and bypasses the cache. It
// returns what it has counted; whole is false if damage made it miss something. The error is one of
// v.Read; all others go to v.Damage. It keeps the index, the filter, and one block in memory.
func (t *Table) Verify(v Verification) (s Summary, whole bool, err error) {
	r, release, err := t.reopen()
	if err != nil {
		v.Damage(err)
		return Summary{}, false, nil
	}
	defer release()
	w := &verifier{Verification: v, reader: r, whole: true}
	err = w.verify(uint64(t.config.Size))
	return w.summary, w.whole, err
}

// VerifyIndex reads the header, footer and index of the file, whatever was read before, and returns
// what the table says about itself: Size, Entries, Tombstones and RawBytes.
func (t *Table) VerifyIndex() (Summary, error) {
	r, release, err := t.reopen()
	if err != nil {
		return Summary{}, err
	}
	defer release()
	p := r.index.properties
	return Summary{
		Size: uint64(t.config.Size), Entries: p.entries, Tombstones: p.tombstones, RawBytes: p.rawBytes,
	}, nil
}

// reopen returns a reader of the file as it is now or, if it has left its directory since it was
// opened there, the reader in use, because no store need have what is obsolete. The caller must not
// bring anything into the cache with it, and must call release.
func (t *Table) reopen() (r *reader, release func(), err error) {
	r, err = t.load()
	isHere := err == nil && r.far == nil
	used := t.reader.Load()
	if !isHere && used != nil && used.far == nil && vfs.HasLeft(t.config.FS, t.config.Path) {
		if err == nil {
			r.close()
		}
		return used, func() { runtime.KeepAlive(used) }, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return r, r.close, nil
}

// verifier is the state of verifying one table.
type verifier struct {
	Verification
	reader  *reader
	filter  *filter.Filter // nil if the table has none
	missing int            // how many keys the filter lacks

	keys    block.Keys   // of the current block
	full    block.Column // the same, in full
	last    []byte       // the previous key; nil before the first
	summary Summary      // what was counted
	zstd    bool         // some block is compressed
	whole   bool         // nothing was damaged so far
}

func (v *verifier) damage(err error) {
	v.whole = false
	v.Damage(err)
}

func (v *verifier) wrong(at uint64, format string, args ...any) {
	v.damage(corrupt.New(v.reader.path, int64(at), format, args...))
}

func (v *verifier) verify(size uint64) error {
	r := v.reader
	v.loadFilter()
	if err := v.Read(size - (r.footer.filter - fileheader.Size)); err != nil {
		return err
	}
	asked := -1
	for b := range r.index.fences {
		if b > asked {
			asked = r.prefetch(b, len(r.slots)-1, mostAsked, ReadValues)
		}
		if err := v.block(b); err != nil {
			v.damage(err)
		}
		at, end := r.index.places[b], r.index.places[b+1]
		if err := v.Read(end.values - at.values + end.keys - at.keys); err != nil {
			return err
		}
	}
	if v.missing > 0 {
		v.wrong(r.footer.filter, "the filter lacks %d keys", v.missing)
	}
	v.summary.Size = size
	v.summary.Largest = bytes.Clone(v.last)
	slices.Sort(v.summary.Dictionaries)
	s := &v.summary
	says, counted := r.index.properties, properties{s.Entries, s.Tombstones, s.RawBytes, v.zstd}
	if v.whole && says != counted {
		v.wrong(r.footer.index, "the properties are %+v, but counting gives %+v", says, counted)
	}
	return nil
}

func (v *verifier) loadFilter() {
	r := v.reader
	if r.footer.filter == r.footer.index {
		if r.footer.filterSum != checksum.Of(nil) {
			v.wrong(r.footer.filter, "there is no filter, and the footer has a checksum for one")
		}
		return
	}
	var err error
	if v.filter, err = r.loadFilter(); err != nil {
		v.damage(err)
	}
}

func (v *verifier) block(b int) error {
	err := v.reader.readKeys(b, func(p []byte) (err error) {
		if v.keys, err = block.ParseKeys(p); err != nil {
			return err
		}
		v.full = v.keys.Expand()
		return v.checkKeys(b)
	})
	if err != nil {
		return err
	}
	return v.reader.readValues(b, v.checkValues)
}

// checkKeys returns an error unless the block's keys ascend from the previous block's and lookups
// find them.
func (v *verifier) checkKeys(b int) error {
	last, n := v.last, v.keys.Len()
	for i := range n {
		key := v.full.At(i)
		if last != nil && bytes.Compare(last, key) >= 0 {
			return fmt.Errorf("key %d of block %d is not above the previous key", i, b)
		}
		if at, exact := v.keys.Search(key); !exact || at != i {
			return fmt.Errorf("a search does not find key %d of block %d", i, b)
		}
		if len(key) > keyspace.MaxInternalKeyBytes {
			return fmt.Errorf("key %d of block %d has %d bytes", i, b, len(key))
		}
		if v.filter != nil && !v.filter.Contains(filter.Hash(key)) {
			v.missing++
		}
		last = key
	}
	if v.last == nil {
		v.summary.Smallest = bytes.Clone(v.full.At(0))
	}
	v.last = last
	return v.reader.index.leadsTo(b, v.full.At(0), last)
}

// leadsTo returns an error unless the index is right about block b, which has these first and last
// keys, and lookups of both lead to it.
func (x *index) leadsTo(b int, first, last []byte) error {
	i := sort.Search(len(x.spans), func(i int) bool { return x.spans[i].First > b })
	s := &x.spans[i-1] // the first span starts with block 0
	if b == s.First && !bytes.Equal(first, s.Key) {
		return fmt.Errorf("the index has another first key of block %d", b)
	}
	if !bytes.HasPrefix(first, s.Key[:s.Prefix]) || keyspace.Head(first[s.Prefix:]) != x.fences[b] {
		return fmt.Errorf("the index has another fence of block %d", b)
	}
	if x.search(first) < b || x.search(last) < b {
		return fmt.Errorf("the index does not lead to block %d", b)
	}
	return nil
}

// checkValues verifies the value block p of the block whose keys were verified.
func (v *verifier) checkValues(p []byte) error {
	parsed, err := block.ParseValues(p, v.keys.Len(), &v.reader.cache.decompressor)
	if err != nil {
		return err
	}
	values := parsed.Plain
	if parsed.Codec == block.Pattern {
		d, err := v.reader.dictionary(parsed.Encoded.Dictionary)
		if err != nil {
			return err
		}
		if values, err = parsed.Encoded.Decode(d, v.keys.Kinds()); err != nil {
			return err
		}
	}
	s := &v.summary
	s.Stored.Bytes += uint64(len(p))
	s.Stored.Codecs[parsed.Codec] += uint64(values.DataBytes())
	v.zstd = v.zstd || parsed.Codec == block.Zstd
	if n := parsed.Encoded.Dictionary; n != 0 && !slices.Contains(s.Dictionaries, n) {
		s.Dictionaries = append(s.Dictionaries, n)
	}
	for i := range v.keys.Len() {
		if err := v.entry(i, values.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// entry counts entry i of the block and passes it to the caller.
func (v *verifier) entry(i int, value []byte) error {
	key, s := v.full.At(i), &v.summary
	e := keyspace.Entry{Kind: v.keys.Kind(i), Until: v.keys.Until(i), Value: value}
	s.Entries++
	s.RawBytes += uint64(len(key) + len(value))
	if len(value) > keyspace.MaxValueBytes {
		return fmt.Errorf("value %d has %d bytes", i, len(value))
	}
	if e.Kind == keyspace.KindDelete {
		s.Tombstones++
		if len(value) > 0 || e.Until != 0 {
			return errors.New("a tombstone has a value or expires")
		}
	}
	return v.Entry(key, e)
}
