package objectfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/remote/internal/diskcache"
	"github.com/stoatdb/stoat/remote/objstore"
)

// aheadMost is how many requests that nobody waits for yet are made at the same time. What is asked
// for beyond them is not fetched ahead.
const aheadMost = 16

// purpose is why something is fetched.
type purpose int

const (
	wanted  purpose = iota // it is to be read now or soon, so reads of it wait
	besides                // reads of it do not wait, since they are smaller
)

// flight is a request under way.
type flight struct {
	id   diskcache.ID
	span span
	why  purpose
	done chan struct{} // closed once data and err are set
	data []byte
	err  error
}

// flights is the requests under way.
type flights struct {
	mu      sync.Mutex
	all     []*flight
	ahead   int // how many of them run in the background
	ended   bool
	running sync.WaitGroup // those in the background
}

// cached fills p from the cache, if that has all of it.
func (f *Folder) cached(id diskcache.ID, p []byte, at int64) bool {
	return f.cache.Get(id, p, at)
}

// fetch returns bytes of a file from a place on, among them those that are wanted. It fetches the
// given ones, unless those that are wanted are under way.
func (f *Folder) fetch(file *file, around, want span) (got []byte, from int64, err error) {
	x, joined := f.join(file, around, want)
	if joined {
		<-x.done
		if x.err == nil {
			return x.data, x.span.from, nil
		}
		x = &flight{id: file.id, span: want} // the one that failed may have asked for more
		x.data, x.err = f.request(context.Background(), file, want)
		return x.data, want.from, x.err
	}
	f.fly(context.Background(), file, x)
	return x.data, x.span.from, x.err
}

// join returns the request under way that has what is wanted or, if there is none, a new one.
func (f *Folder) join(file *file, around, want span) (x *flight, joined bool) {
	f.flights.mu.Lock()
	defer f.flights.mu.Unlock()
	for _, x := range f.flights.all {
		if x.id == file.id && x.why == wanted && x.span.contains(want) {
			return x, true
		}
	}
	return f.addLocked(file, around, wanted), false
}

func (f *Folder) addLocked(file *file, s span, why purpose) *flight {
	x := &flight{id: file.id, span: s, why: why, done: make(chan struct{})}
	f.flights.all = append(f.flights.all, x)
	return x
}

// fly makes a request. What it brings is in the cache before others stop waiting for it.
func (f *Folder) fly(ctx context.Context, file *file, x *flight) {
	x.data, x.err = f.request(ctx, file, x.span)
	if x.err == nil {
		f.cache.Put(x.id, x.data, x.span.from)
	}
	f.flights.mu.Lock()
	defer f.flights.mu.Unlock()
	i := slices.Index(f.flights.all, x)
	f.flights.all = slices.Delete(f.flights.all, i, i+1)
	close(x.done)
}

// fetchAhead begins to fetch bytes of a file, unless they are at hand or under way, or there is
// enough to do.
func (f *Folder) fetchAhead(file *file, s span, why purpose) {
	if f.cache.Has(file.id, s.from, s.to) {
		return
	}
	f.flights.mu.Lock()
	defer f.flights.mu.Unlock()
	for _, x := range f.flights.all {
		if x.id == file.id && x.span.contains(s) {
			x.why = min(x.why, why) // reads of it wait now
			return
		}
	}
	if f.flights.ended || f.flights.ahead >= aheadMost {
		return
	}
	x := f.addLocked(file, s, why)
	f.flights.ahead++
	f.flights.running.Go(func() {
		f.fly(f.ctx, file, x)
		f.flights.mu.Lock()
		defer f.flights.mu.Unlock()
		f.flights.ahead--
	})
}

// request gets bytes of an object.
func (f *Folder) request(ctx context.Context, file *file, s span) ([]byte, error) {
	return f.requestFrom(ctx, f.store, file, s)
}

// requestFrom is request, of a store that has the same objects.
func (f *Folder) requestFrom(
	ctx context.Context, store objstore.Store, file *file, s span,
) ([]byte, error) {
	got, err := store.Get(ctx, file.object, s.from, s.to-s.from)
	if errors.Is(err, objstore.ErrNotExist) {
		(*f.missing.Load())()
	}
	if errors.Is(err, objstore.ErrNotExist) || err == nil && int64(len(got)) < s.to-s.from {
		return nil, corrupt.New(file.object, s.from, "the object is missing, or ends before %d", s.to)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", file.object, err)
	}
	return got, nil
}

// roomShare of the limit of the cache, as a divisor, is kept free by [Folder.Fetch] for what is
// read.
const roomShare = 4

// Fetch brings what the cache lacks of a file into it, one part after the other, each once pass
// lets it through. It reports whether there was room: nothing leaves the cache for it but what is
// not needed any more. The store is the same as that of the folder, but need not be as quick to
// give up: nobody waits for the answer, and a large part that is cut would be asked for again and
// again. Unless here is nil, it is the same file, and no request is made.
func (f *Folder) Fetch(
	ctx context.Context, store objstore.Store, here io.ReaderAt, name string, size int64,
	pass func(bytes int) error, needed func(kind folder.Kind, number uint64) bool,
) (room bool, err error) {
	opened, err := f.OpenSized(name, size)
	if err != nil {
		return false, err
	}
	file := opened.(*file)
	for at := int64(0); at < size; at += aheadBytes {
		s := span{at, min(at+aheadBytes, size)}
		if f.cache.Has(file.id, s.from, s.to) {
			continue
		}
		if !f.hasRoom(s) {
			f.cache.Drop(func(id diskcache.ID) bool { return needed(id.Kind, id.Number) })
		}
		if !f.hasRoom(s) {
			return false, nil
		}
		if err := pass(int(s.to - s.from)); err != nil {
			return true, err
		}
		var p []byte
		if here == nil {
			p, err = f.requestFrom(ctx, store, file, s)
		} else {
			p, err = readSpan(here, s)
		}
		if err != nil {
			return true, err
		}
		if f.cache.Put(file.id, p, s.from); !f.cache.Has(file.id, s.from, s.to) {
			return false, nil // the cache takes nothing more
		}
	}
	return true, nil
}

// readSpan reads bytes of a file that has them.
func readSpan(file io.ReaderAt, s span) ([]byte, error) {
	p := make([]byte, s.to-s.from)
	if n, err := file.ReadAt(p, s.from); n < len(p) {
		return nil, fmt.Errorf("read for the cache: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	return p, nil
}

// hasRoom reports whether the cache has room for what nobody has read.
func (f *Folder) hasRoom(s span) bool {
	return f.cache.HasRoom(s.to-s.from, roomShare)
}

// Stop ends what is fetched ahead, and lets go of the cache. Files stay readable.
func (f *Folder) Stop() error {
	f.flights.mu.Lock()
	f.flights.ended = true
	f.flights.mu.Unlock()
	f.cancel()
	f.flights.running.Wait()
	return f.cache.Close()
}
