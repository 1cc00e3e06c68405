package objectfs

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/diskcache"
)

const (
	// tailBytes is how much of the end of a table is fetched at once: mostly, the index is in it.
	tailBytes = 64 << 10
	// wholeBytes is the size up to which an object, or the part that small reads are expected in, is
	// fetched as a whole by the first of them. A larger part is fetched besides, up to partBytes.
	wholeBytes = 256 << 10
	partBytes  = 4 << 20
	// leadShare of the cache, as a divisor, is how much may be fetched ahead of a scan: there may be
	// several, and gets.
	leadShare = 8
	// aheadBytes is the most that is fetched by one request that nobody waits for yet.
	aheadBytes = 4 << 20
)

// file is an object that is read as a file.
type file struct {
	in     *Folder
	id     diskcache.ID
	object string
	size   int64 // how much of it counts

	expected atomic.Pointer[span] // where small reads are likely; nil until known
}

var _ vfs.Distant = (*file)(nil)

// span is the bytes [from, to) of an object.
type span struct{ from, to int64 }

func (s span) contains(t span) bool { return s.from <= t.from && t.to <= s.to }

// ReadAt implements [vfs.File].
func (f *file) ReadAt(p []byte, at int64) (n int, err error) {
	if at < 0 || at > f.size {
		return 0, fmt.Errorf("read %s at %d of %d bytes: %w", f.object, at, f.size, io.EOF)
	}
	if left := f.size - at; int64(len(p)) > left {
		p, err = p[:left], io.EOF
	}
	want := span{at, at + int64(len(p))}
	if len(p) > 0 && !f.in.cached(f.id, p, at) {
		got, at, err := f.in.fetch(f, f.around(want), want)
		if err != nil {
			return 0, err
		}
		copy(p, got[want.from-at:])
	}
	return len(p), err
}

// around returns the bytes that are fetched for the sake of some that are wanted.
func (f *file) around(want span) span {
	part := f.expected.Load()
	switch {
	case f.size <= wholeBytes:
		return span{0, f.size}
	case f.id.Kind == folder.Table && want.from >= f.size-tailBytes:
		return span{f.size - tailBytes, f.size}
	case part == nil || !part.contains(want):
		return want
	case part.to-part.from <= wholeBytes:
		return *part
	case part.to-part.from <= partBytes:
		f.in.fetchAhead(f, *part, besides)
	}
	return want
}

// Expect implements [vfs.Distant].
func (f *file) Expect(from, to int64) { f.expected.Store(&span{from, to}) }

// WillNeed implements [vfs.Distant].
func (f *file) WillNeed(from, to int64) {
	for from < to {
		end := min(from+aheadBytes, to)
		f.in.fetchAhead(f, f.around(span{from, end}), wanted)
		from = end
	}
}

// Lead implements [vfs.Distant].
func (f *file) Lead() int64 { return f.in.cache.Limit() / leadShare }

// Size implements [vfs.File].
func (f *file) Size() (int64, error) { return f.size, nil }

// Map implements [vfs.File].
func (f *file) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }

// Named implements [vfs.File].
func (f *file) Named() error { return nil }

// Close implements [vfs.File].
func (f *file) Close() error { return nil }
