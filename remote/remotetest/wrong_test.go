package remotetest_test

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// wrong is a store that is wrong in one way, which some checks must catch.
type wrong struct {
	name   string
	store  func() objstore.Store
	probed bool // the probe must catch it, too
}

// wrongStores returns the wrong stores. Several are modelled on servers that exist.
func wrongStores() []wrong {
	return []wrong{
		{"Create overwrites", func() objstore.Store { return &overwriting{memstore.New()} }, true},
		{"several racers win", func() objstore.Store { return &racy{Store: memstore.New()} }, true},
		{"a refused Create overwrites", func() objstore.Store {
			return &refusing{memstore.New()}
		}, true},
		{"Create stores nothing", func() objstore.Store { return &forgetful{memstore.New()} }, true},
		{"Create keeps the caller's bytes", func() objstore.Store {
			return &aliasing{memstore.New(), map[string][]byte{}}
		}, false},
		{"Put is torn", func() objstore.Store { return &tearing{memstore.New(), sync.Map{}} }, false},
		{"ranges are dropped", func() objstore.Store { return &rangeless{memstore.New()} }, true},
		{"suffixes are prefixes", func() objstore.Store { return &suffixless{memstore.New()} }, true},
		{"the last byte is left out", func() objstore.Store { return &short{memstore.New()} }, true},
		{"streams of absent objects are empty", func() objstore.Store {
			return &streaming{memstore.New(), lenientStream}
		}, false},
		{"streams hide that the writer is full", func() objstore.Store {
			return &streaming{memstore.New(), deafStream}
		}, false},
		{"a range beyond the end fails", func() objstore.Store { return &strict{memstore.New()} }, true},
		{"an absent object is empty", func() objstore.Store { return &lenient{memstore.New()} }, true},
		{"listings are out of order", func() objstore.Store {
			return &listing{memstore.New(), reversed}
		}, true},
		{"listings are in the order of folders", func() objstore.Store {
			return &listing{memstore.New(), byFolder}
		}, true},
		{"listings are stale", func() objstore.Store { return &stale{Store: memstore.New()} }, true},
		{"listings ignore the prefix", func() objstore.Store {
			return &listing{memstore.New(), nil}
		}, true},
		{"listings begin with the name that they should follow", func() objstore.Store {
			return &inclusive{memstore.New()}
		}, true},
		{"listings end after 1,000", func() objstore.Store { return &capped{memstore.New()} }, false},
		{"listings of nothing fail", func() objstore.Store { return &busy{memstore.New()} }, true},
		{"a limit of 0 is none", func() objstore.Store { return &limitless{memstore.New()} }, false},
		{"Delete needs names", func() objstore.Store { return &needy{memstore.New()} }, false},
		{"Delete does nothing", func() objstore.Store { return &keeping{memstore.New()} }, true},
		{"Delete removes what a name begins", func() objstore.Store {
			return &greedy{memstore.New()}
		}, false},
		{"absent names cannot be deleted", func() objstore.Store {
			return &picky{memstore.New()}
		}, false},
		{"contexts are ignored", func() objstore.Store { return &deaf{memstore.New()} }, false},
	}
}

type overwriting struct{ *memstore.Store }

func (s *overwriting) Create(ctx context.Context, name string, body []byte) error {
	if err := s.Store.Create(ctx, name, body); err == nil {
		return nil
	}
	if err := s.Delete(ctx, []string{name}); err != nil {
		return err
	}
	return s.Store.Create(ctx, name, body)
}

// racy looks whether the name is taken, and then writes.
type racy struct {
	*memstore.Store
	mu sync.Mutex
}

func (s *racy) Create(ctx context.Context, name string, body []byte) error {
	if _, err := s.Get(ctx, name, 0, 0); err == nil {
		return objstore.ErrExists
	}
	for range 100 {
		runtime.Gosched()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Delete(ctx, []string{name}); err != nil {
		return err
	}
	return s.Store.Create(ctx, name, body)
}

type refusing struct{ *memstore.Store }

func (s *refusing) Create(ctx context.Context, name string, body []byte) error {
	err := s.Store.Create(ctx, name, body)
	if err != nil && ctx.Err() == nil {
		_ = s.Delete(ctx, []string{name})
		_ = s.Store.Create(ctx, name, body)
	}
	return err
}

type forgetful struct{ *memstore.Store }

func (s *forgetful) Create(context.Context, string, []byte) error { return nil }

type aliasing struct {
	*memstore.Store
	bodies map[string][]byte
}

func (s *aliasing) Create(ctx context.Context, name string, body []byte) error {
	err := s.Store.Create(ctx, name, nil)
	if err == nil {
		s.bodies[name] = body
	}
	return err
}

func (s *aliasing) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if _, err := s.Store.Get(ctx, name, 0, 0); err != nil {
		return nil, err
	}
	start, end := objstore.Range(int64(len(s.bodies[name])), off, n)
	return bytes.Clone(s.bodies[name][start:end]), nil
}

// tearing shows half of an object first.
type tearing struct {
	*memstore.Store
	half sync.Map
}

func (s *tearing) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	half := make([]byte, size/2)
	_, _ = body.ReadAt(half, 0)
	s.half.Store(name, half)
	for range 100 {
		runtime.Gosched()
	}
	defer s.half.Delete(name)
	return s.Store.Put(ctx, name, body, size)
}

func (s *tearing) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if half, found := s.half.Load(name); found {
		return half.([]byte), nil
	}
	return s.Store.Get(ctx, name, off, n)
}

type rangeless struct{ *memstore.Store }

func (s *rangeless) Get(ctx context.Context, name string, _, _ int64) ([]byte, error) {
	return s.Store.Get(ctx, name, 0, -1)
}

type suffixless struct{ *memstore.Store }

func (s *suffixless) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if off < 0 {
		return s.Store.Get(ctx, name, 0, -off)
	}
	return s.Store.Get(ctx, name, off, n)
}

type short struct{ *memstore.Store }

func (s *short) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	got, err := s.Store.Get(ctx, name, off, n)
	return got[:max(0, len(got)-1)], err
}

type strict struct{ *memstore.Store }

func (s *strict) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	got, err := s.Store.Get(ctx, name, off, n)
	if err == nil && len(got) == 0 && off > 0 {
		err = io.ErrUnexpectedEOF
	}
	return got, err
}

type lenient struct{ *memstore.Store }

func (s *lenient) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	got, err := s.Store.Get(ctx, name, off, n)
	if err != nil && ctx.Err() == nil && objstore.CheckName(name) == nil {
		return nil, nil
	}
	return got, err
}

// streaming is wrong only in GetTo.
type streaming struct {
	*memstore.Store
	change func(p []byte, err error, w io.Writer) (int64, error)
}

func (s *streaming) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (int64, error) {
	p, err := s.Get(ctx, name, off, n)
	return s.change(p, err, w)
}

func lenientStream(p []byte, _ error, w io.Writer) (int64, error) {
	n, err := w.Write(p)
	return int64(n), err
}

func deafStream(p []byte, err error, w io.Writer) (int64, error) {
	n, _ := w.Write(p)
	return int64(n), err
}

// listing changes the order of listings, or ignores the prefix.
type listing struct {
	*memstore.Store
	order func(a, b objstore.Object) int
}

func (s *listing) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if s.order == nil {
		return s.Store.List(ctx, "", after, limit)
	}
	listed, err := s.Store.List(ctx, prefix, after, limit)
	slices.SortFunc(listed, s.order)
	return listed, err
}

func reversed(a, b objstore.Object) int { return strings.Compare(b.Name, a.Name) }

func byFolder(a, b objstore.Object) int {
	return slices.Compare(strings.Split(a.Name, "/"), strings.Split(b.Name, "/"))
}

// stale shows the listing of the last time.
type stale struct {
	*memstore.Store
	mu   sync.Mutex
	last map[string][]objstore.Object
}

func (s *stale) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	listed, err := s.Store.List(ctx, prefix, after, limit)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil {
		s.last = map[string][]objstore.Object{}
	}
	shown, found := s.last[prefix]
	s.last[prefix] = listed
	if err == nil && found {
		listed = shown
	}
	return listed, err
}

type inclusive struct{ *memstore.Store }

func (s *inclusive) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	listed, err := s.Store.List(ctx, prefix, after, limit)
	if err == nil && after > prefix && strings.HasPrefix(after, prefix) {
		if _, err := s.Get(ctx, after, 0, 0); err == nil {
			listed = slices.Insert(listed, 0, objstore.Object{Name: after})
		}
	}
	return listed[:min(len(listed), max(limit, 0))], err
}

type capped struct{ *memstore.Store }

func (s *capped) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	return s.Store.List(ctx, prefix, after, min(limit, 1000))
}

type busy struct{ *memstore.Store }

func (s *busy) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	listed, err := s.Store.List(ctx, prefix, after, limit)
	if err == nil && len(listed) == 0 {
		err = objstore.ErrNotExist
	}
	return listed, err
}

type limitless struct{ *memstore.Store }

func (s *limitless) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	if limit <= 0 {
		limit = 1000
	}
	return s.Store.List(ctx, prefix, after, limit)
}

type needy struct{ *memstore.Store }

func (s *needy) Delete(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return objstore.ErrName
	}
	return s.Store.Delete(ctx, names)
}

type keeping struct{ *memstore.Store }

func (s *keeping) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := objstore.CheckName(name); err != nil {
			return err
		}
	}
	return ctx.Err()
}

type greedy struct{ *memstore.Store }

func (s *greedy) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := objstore.CheckName(name); err != nil {
			return err
		}
		listed, err := s.List(ctx, name, "", 1000)
		if err != nil {
			return err
		}
		for _, o := range listed {
			if err := s.Store.Delete(ctx, []string{o.Name}); err != nil {
				return err
			}
		}
	}
	return nil
}

type picky struct{ *memstore.Store }

func (s *picky) Delete(ctx context.Context, names []string) error {
	for _, name := range names {
		if _, err := s.Get(ctx, name, 0, 0); err != nil {
			return err
		}
	}
	return s.Store.Delete(ctx, names)
}

type deaf struct{ *memstore.Store }

func (s *deaf) Create(ctx context.Context, name string, body []byte) error {
	return s.Store.Create(context.WithoutCancel(ctx), name, body)
}
