package history

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// parallelMost is how many objects are fetched at the same time by default.
	parallelMost = 64
	// fetchTries is how often each of them is tried: a failure must not make all others be of no use.
	fetchTries = 6
	// listMost is how many objects are listed by one request.
	listMost = 1000
)

// ahead is a store some of whose log objects were fetched before they are asked for, each once.
// They never change, so this looks as if its reader was slow. Safe for concurrent use.
type ahead struct {
	objstore.Store
	most    int                                        // are fetched at the same time
	slots   chan struct{}                              // has an item for each of them
	pause   func(ctx context.Context, tries int) error // before the next try
	mu      sync.Mutex
	objects map[string][]byte
}

func (l *Log) newAhead() *ahead {
	most := cmp.Or(l.Parallel, parallelMost)
	return &ahead{
		Store: l.Store, most: most, slots: make(chan struct{}, most), pause: l.Pause,
		objects: map[string][]byte{},
	}
}

// Get implements [objstore.Store].
func (a *ahead) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	a.mu.Lock()
	p, fetched := a.objects[name]
	delete(a.objects, name)
	a.mu.Unlock()
	if fetched {
		return p, nil
	}
	return a.Store.Get(ctx, name, off, n)
}

// fetch fetches log objects at the same time. Those that do not exist are left out.
func (a *ahead) fetch(ctx context.Context, names []string) error {
	var running sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		a.slots <- struct{}{}
		running.Go(func() {
			defer func() { <-a.slots }()
			errs[i] = a.fetchOne(ctx, name)
		})
	}
	running.Wait()
	for _, err := range errs {
		if err != nil && !errors.Is(err, objstore.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (a *ahead) fetchOne(ctx context.Context, name string) error {
	for tries := 1; ; tries++ {
		p, err := a.Store.Get(ctx, name, 0, object.EditBytesMax+1)
		if err == nil {
			a.put(name, p)
			return nil
		}
		if lasting(err) || tries == fetchTries {
			return err
		}
		if paused := a.pause(ctx, tries); paused != nil {
			return errors.Join(paused, err)
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
	return errors.Is(err, objstore.ErrNotExist) || corrupt.IsLasting(err)
}

// missing returns the names of objects that were not fetched.
func (a *ahead) missing(names []string) (missing []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, name := range names {
		if a.objects[name] == nil {
			missing = append(missing, name)
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
}

// pendingNames returns the names of the log objects that a reader of a state needs.
func pendingNames(s *object.State) (names []string) {
	for _, p := range s.Pending {
		names = append(names, logName(p.Number))
	}
	return names
}

// listedAfter returns the log objects after number n, up to that of number through, in order.
func (l *Log) listedAfter(
	ctx context.Context, n, through uint64,
) (objects []objstore.Object, err error) {
	for after := logName(n); n < through; {
		limit := int(min(listMost, through-n))
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

func namesOf(objects []objstore.Object) (names []string) {
	for _, o := range objects {
		names = append(names, o.Name)
	}
	return names
}
