package table

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/filter"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs"
)

// reader is an open table file. What it has read stays in memory until the cache evicts it; mapped
// bytes are used in place. The file is released when nothing reaches the reader. Safe for
// concurrent use.
type reader struct {
	path   string
	file   vfs.File    // nil if data is the whole file
	far    vfs.Distant // the file, if that is distant; else nil
	data   []byte      // the map, or the file in memory
	mapped bool        // data is a map
	cache  *Cache
	footer footer
	index  *index
	slots  []slots // of each block

	dictionaries []*block.Dictionary

	unload  func() // see vfs.Unloader
	hold    *hold
	cleanup runtime.Cleanup // releases hold

	inPlace bool        // the file is mapped, and no block is decompressed
	apart   bool        // values may be read apart from their blocks
	sampler vfs.Sampler // of parts of blocks in the map, and of values that are used in place

	filter   atomic.Pointer[filter.Filter] // nil until first used
	filterMu sync.Mutex                    // held while the filter is read
}

func openReader(c Config) (*reader, error) {
	file, err := vfs.OpenSized(c.FS, c.Path, c.Size)
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if size != c.Size || size < fileheader.Size+FooterSize {
		err := corrupt.New(c.Path, 0, "file has %d bytes, want %d", size, c.Size)
		return nil, errors.Join(err, file.Close())
	}
	r := &reader{path: c.Path, file: file, cache: c.Cache, dictionaries: c.Dictionaries}
	r.unload = func() {}
	if !c.Whole {
		r.far, _ = file.(vfs.Distant)
	}
	release, err := r.open(c)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	r.hold = &hold{c.Cache, r.slots, release}
	r.cleanup = runtime.AddCleanup(r, (*hold).release, r.hold)
	return r, nil
}

// open reads what it takes to find entries, and maps the file or reads all of it. It returns a
// function that releases the file, even after an error.
//
// Reading small sections costs far less than touching them in a map for the first time.
func (r *reader) open(c Config) (release func() error, err error) {
	if c.Whole {
		return r.openWhole(c)
	}
	if err := r.load(c); err != nil {
		return r.file.Close, err
	}
	data, unmap, err := r.file.Map(c.Size)
	if errors.Is(err, vfs.ErrNoMap) {
		if r.apart = vfs.VerifiesReads(r.file); r.far != nil {
			r.far.Expect(int64(r.footer.keys), int64(r.footer.filter))
		}
		return r.file.Close, nil
	}
	if err != nil {
		return r.file.Close, err
	}
	err, r.unload = r.file.Close(), vfs.Unloader(r.file, data)
	r.file, r.data, r.mapped = nil, data, true
	r.inPlace = !r.index.compressed
	r.sampler.Suspect()
	return unmap, err
}

// openWhole is open for a file that is kept in memory.
func (r *reader) openWhole(c Config) (release func() error, err error) {
	p := make([]byte, c.Size)
	if _, err := r.file.ReadAt(p, 0); err != nil {
		return r.file.Close, fmt.Errorf("read %s: %w", r.path, err)
	}
	err = r.file.Close()
	r.file, r.data = nil, p
	if err == nil {
		err = r.load(c)
	}
	return func() error { return nil }, err
}

// close releases the file at once. The reader, and everything it returned, must not be used again.
func (r *reader) close() {
	r.cleanup.Stop()
	r.hold.release()
}

// hold is what a reader releases in the end.
type hold struct {
	cache *Cache
	slots []slots
	give  func() error // unmaps or closes the file
}

// release evicts all units, and then gives up the map that they may point into.
func (h *hold) release() {
	h.forget()
	_ = h.give() // no caller is left, and nothing was written
}

// forget evicts all units.
func (h *hold) forget() {
	for i := range h.slots {
		s := &h.slots[i]
		s.keys.empty(h.cache)
		s.flat.empty(h.cache)
		s.values.empty(h.cache)
		s.encoded.empty(h.cache)
		s.heads.empty(h.cache)
		s.outline.empty(h.cache)
	}
}

func (r *reader) load(c Config) error {
	header, size := headerOf(c.Number, c.Database), uint64(c.Size)
	if r.far == nil { // the footer has all of it, too
		err := r.read(0, fileheader.Size, func(p []byte) error { return header.Check(r.path, p) })
		if err != nil {
			return err
		}
	}
	err := r.read(size-FooterSize, size, func(p []byte) (err error) {
		r.footer, err = parseFooter(p, header, size)
		return err
	})
	if err != nil {
		return err
	}
	err = r.read(r.footer.index, size-FooterSize, func(p []byte) (err error) {
		if checksum.Of(p) != r.footer.indexSum {
			return errors.New("checksum of the index does not match")
		}
		r.index, err = parseIndex(p, r.footer)
		return err
	})
	if err == nil {
		r.slots = make([]slots, len(r.index.fences))
	}
	return err
}

// read calls parse with the bytes [from, to) of the file, which are in new memory unless the reader
// has the whole file. A plain error of parse becomes damage at from. Bytes of a map are touched for
// the first time here.
func (r *reader) read(from, to uint64, parse func(p []byte) error) error {
	if r.file == nil {
		return r.check(from, func() error {
			p := r.data[from:to:to]
			if r.mapped {
				if r.sampler.Due(from) {
					r.sampler.WarmWith(p, r.around(from))
				}
				touch(p)
			}
			return parse(p)
		})
	}
	p := make([]byte, to-from)
	if _, err := r.file.ReadAt(p, int64(from)); err != nil {
		return fmt.Errorf("read %s at offset %d: %w", r.path, from, err)
	}
	return r.check(from, func() error { return parse(p) })
}

// touch brings p into the processor's cache. It waits for several cache lines at a time, where a
// checksum waits for one: both together take a quarter less time than only the checksum. What is
// too large for that is left alone.
func touch(p []byte) {
	const line, most = 64, 256 << 10
	if len(p) > most {
		return
	}
	var all byte
	for i := 0; i < len(p); i += line {
		all |= p[i]
	}
	runtime.KeepAlive(all)
}

// readKeys is read for the key part of block b.
func (r *reader) readKeys(b int, parse func(p []byte) error) error {
	places := r.index.places[b:]
	return r.readPart(places[0].keys, places[1].keys, r.index.sums[b].keys, parse)
}

// readValues is read for the values of block b.
func (r *reader) readValues(b int, parse func(p []byte) error) error {
	places := r.index.places[b:]
	return r.readPart(places[0].values, places[1].values, r.index.sums[b].values, parse)
}

// readPart is read for a part of a block, which must end with the checksum in the index. A valid
// part that belongs elsewhere does not.
func (r *reader) readPart(from, to uint64, sum uint32, parse func(p []byte) error) error {
	return r.read(from, to, func(p []byte) error {
		if err := checkPart(p, sum); err != nil {
			return err
		}
		return parse(p)
	})
}

// check calls parse, which looks at bytes of the file. A plain error of parse becomes damage at
// from. A fault, which is an I/O error in a map, becomes an error instead of a crash.
func (r *reader) check(from uint64, parse func() error) error {
	err := vfs.CatchFaults(parse)
	switch {
	case err == nil || errors.Is(err, corrupt.Err) || errors.Is(err, corrupt.ErrFormat):
		return err
	case errors.Is(err, vfs.ErrFault):
		return fmt.Errorf("%s at offset %d: %w", r.path, from, err)
	}
	return corrupt.New(r.path, int64(from), "%v", err)
}

// find sets e to the entry of key, as [Table.Find] does, and moves f there, unless f is nil.
func (r *reader) find(key []byte, f *Finger, e *keyspace.Entry) (ok bool, err error) {
	b, keys, i, exact, err := r.search(key)
	if !exact {
		return false, err
	}
	if f != nil {
		f.move(r, b)
	}
	err = r.entry(b, keys, i, e)
	return err == nil, err
}

// entry sets e to entry i of block b. It sets field by field: a load of a field that was zeroed
// together with its neighbours may have to wait.
func (r *reader) entry(b int, keys *block.Keys, i int, e *keyspace.Entry) error {
	kind := keys.Kind(i)
	e.Kind, e.Dictionary, e.Length = kind, 0, 0
	if e.Until = 0; kind == keyspace.KindDelete {
		e.Value = nil
		return nil
	}
	e.Until = keys.Until(i)
	values, from, encoded, err := r.some(b, keys, i, 1)
	switch {
	case err != nil:
		return err
	case values != nil:
		e.Value = values.At(i - from)
	default:
		encoded.Entry(i, e)
	}
	if r.inPlace && r.sampler.Due(uint64(b)<<16|uint64(i)) {
		r.sampler.Warm(e.Value)
	}
	return nil
}

// mayContain asks the filter, if there is one, whether the table may have a key with that hash.
func (r *reader) mayContain(hash uint64) (bool, error) {
	if r.footer.filter == r.footer.index {
		return true, nil
	}
	f := r.filter.Load()
	if f == nil {
		var err error
		if f, err = r.loadFilter(); err != nil {
			return false, err
		}
	}
	return f.Contains(hash), nil
}

func (r *reader) loadFilter() (*filter.Filter, error) {
	r.filterMu.Lock()
	defer r.filterMu.Unlock()
	if f := r.filter.Load(); f != nil {
		return f, nil
	}
	var f filter.Filter
	err := r.read(r.footer.filter, r.footer.index, func(p []byte) (err error) {
		if checksum.Of(p) != r.footer.filterSum {
			return errors.New("checksum of the filter does not match")
		}
		f, err = filter.Parse(p)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.filter.Store(&f)
	return &f, nil
}

// search returns the block that key belongs to, the index in it of the first entry whose key is not
// below key, or the number of entries, and whether that entry has the key. The block is −1 if key
// is below all keys.
func (r *reader) search(key []byte) (b int, keys *block.Keys, i int, exact bool, err error) {
	for b = r.index.search(key); b >= 0; b-- {
		if u := r.slots[b].values.Load(); u != nil {
			u.hot.Load() // they are likely to be used: fetch them while the key is searched
		}
		if r.far != nil && r.slots[b].keys.Load() == nil {
			r.willNeedValues(b) // they are likely to be used: fetch them along with the keys
		}
		if keys, err = r.keys(b, lookup); err != nil {
			return b, nil, 0, false, err
		}
		if i, exact = keys.Search(key); i > 0 || exact {
			return b, keys, i, exact, nil
		}
	}
	return -1, nil, 0, false, nil
}
