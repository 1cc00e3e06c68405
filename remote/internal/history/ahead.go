package history

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// parallelMost is how many objects are fetched at the same time by default.
	parallelMost = 64
	// openingMost is how many bytes of log objects are fetched together when a database is opened,
	// unless one has more: of those after the newest state, and of those that it needs. Few logs have
	// as many there.
	openingMost = 32 << 20
	// fetchTries is how often each of them is tried: a failure must not make all others be of no use.
	fetchTries = 6
)

// ahead is a store some of whose log objects are fetched before they are asked for, each once. They
// never change, so this looks as if its reader was slow. Safe for concurrent use.
type ahead struct {
	objstore.Store
	limit   int64                                      // of bytes that are fetched together
	slots   chan struct{}                              // has an item for each object under way
	pause   func(ctx context.Context, tries int) error // before the next try
	mu      sync.Mutex
	objects map[string][]byte
	rest    []objstore.Object // what did not fit: fetched once one of them is asked for, in order
}

// openingBytes returns how many bytes are fetched together when a database is opened.
func (l *Log) openingBytes() int64 { return cmp.Or(l.opening, openingMost) }

func (l *Log) newAhead(limit int64) *ahead {
	return &ahead{
		Store: l.Store, limit: limit, slots: make(chan struct{}, cmp.Or(l.Parallel, parallelMost)),
		pause: l.Pause, objects: map[string][]byte{},
	}
}

// Get implements [objstore.Store].
func (a *ahead) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if next := a.next(name); len(next) > 0 {
		if err := a.fetch(ctx, next); err != nil {
			return nil, err
		}
	}
	a.mu.Lock()
	p, fetched := a.objects[name]
	delete(a.objects, name)
	a.mu.Unlock()
	if fetched {
		return p, nil
	}
	return a.Store.Get(ctx, name, off, n)
}

// next takes out of what did not fit the objects from one on; none if that is at hand, or not among
// them.
func (a *ahead) next(name string) (next []objstore.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects[name] != nil {
		return nil
	}
	i := slices.IndexFunc(a.rest, func(o objstore.Object) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	a.rest, next = a.rest[:i:i], a.rest[i:]
	return next
}

// fetch fetches log objects at the same time, in their order: at least one, and others as long as
// they fit the limit together. The rest is left for later. An object of size 0 counts once it is
// there. Those that do not exist are left out.
func (a *ahead) fetch(ctx context.Context, objects []objstore.Object) error {
	var running sync.WaitGroup
	var bytes atomic.Int64
	var failed atomic.Pointer[error]
	for i, o := range objects {
		a.slots <- struct{}{}
		if had := bytes.Add(o.Size) - o.Size; i > 0 && had+o.Size > a.limit {
			<-a.slots
			a.leave(objects[i:])
			break
		}
		running.Go(func() {
			defer func() { <-a.slots }()
			got, err := a.fetchOne(ctx, o.Name)
			bytes.Add(got - o.Size)
			if err != nil && !errors.Is(err, objstore.ErrNotExist) {
				failed.CompareAndSwap(nil, &err)
			}
		})
	}
	running.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// leave leaves objects for later.
func (a *ahead) leave(objects []objstore.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.rest) == 0 {
		a.rest = slices.Clip(objects) // of a long log, without a copy
	} else {
		a.rest = append(a.rest, objects...)
	}
}

// fetchOne fetches an object, and returns its size.
func (a *ahead) fetchOne(ctx context.Context, name string) (bytes int64, err error) {
	for tries := 1; ; tries++ {
		p, err := a.Store.Get(ctx, name, 0, object.EditBytesMax+1)
		if err == nil {
			a.put(name, p)
			return int64(len(p)), nil
		}
		if lasting(err) || tries == fetchTries {
			return 0, err
		}
		if paused := a.pause(ctx, tries); paused != nil {
			return 0, errors.Join(paused, err)
		}
	}
}

// put has an object at hand. What is there stays: a look back may have been about it, and not about
// another object that has come in its place.
func (a *ahead) put(name string, p []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.objects[name] == nil {
		a.objects[name] = p
	}
}

// at returns an object that is at hand, and stays so; nil if it is not.
func (a *ahead) at(name string) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.objects[name]
}

// lasting reports whether another try of a request that failed is of no use.
func lasting(err error) bool {
	return errors.Is(err, objstore.ErrNotExist) || errors.Is(err, objstore.ErrDenied) ||
		corrupt.IsLasting(err)
}

// missing returns those of some objects that are neither at hand nor left for later.
func (a *ahead) missing(objects []objstore.Object) (missing []objstore.Object) {
	a.mu.Lock()
	defer a.mu.Unlock()
	left := make(map[string]bool, len(a.rest))
	for _, o := range a.rest {
		left[o.Name] = true
	}
	for _, o := range objects {
		if a.objects[o.Name] == nil && !left[o.Name] {
			missing = append(missing, o)
		}
	}
	return missing
}

// through returns the number of the last log object before the first one after n that is missing.
func (a *ahead) through(n uint64) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	for a.objects[logName(n+1)] != nil {
		n++
	}
	return n
}

// forget drops what was fetched and not asked for.
func (a *ahead) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.objects)
	a.rest = nil
}

// pendingOf returns the log objects that a reader of a state needs, whose sizes the state does not
// say.
func pendingOf(s *object.State) (pending []objstore.Object) {
	for _, p := range s.Pending {
		pending = append(pending, objstore.Object{Name: logName(p.Number)})
	}
	return pending
}

// listedAfter returns the log objects after number n, up to that of number through, in order.
func (l *Log) listedAfter(
	ctx context.Context, n, through uint64,
) (objects []objstore.Object, err error) {
	for after := logName(n); n < through; {
		limit := int(min(PageObjects, through-n))
		listed, err := l.Store.List(ctx, logPrefix, after, limit)
		if err != nil {
			return nil, err
		}
		for _, o := range listed {
			number, ok := logNumber(o.Name)
			if !ok {
				continue
			}
			if number > through {
				return objects, nil
			}
			objects, n = append(objects, o), number
		}
		if len(listed) < limit {
			return objects, nil
		}
		after = listed[len(listed)-1].Name
	}
	return objects, nil
}
