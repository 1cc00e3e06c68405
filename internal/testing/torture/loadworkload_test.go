package torture

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// loading is the input of one Load, for the database and the model.
type loading struct {
	pairs []model.Entry
	fails error // ends it before the pair at: ErrInvalidKey, context.Canceled or nil
	at    int
}

// loading draws random pairs: sorted, sorted at first, or unsorted, with keys from key or behind
// all others. Some loads fail midway.
func (p *generator) loading(n int, key func() string) loading {
	l := loading{pairs: make([]model.Entry, n)}
	beyond := p.chance(2)
	for i := range l.pairs {
		pair := &l.pairs[i]
		pair.Key, pair.Value = key(), p.value()
		if beyond {
			p.loaded++
			pair.Key = fmt.Sprintf("\xff\xff\xff\xff%06d", p.loaded)
		}
	}
	ordered := []int{n, n, p.rng.IntN(n + 1), 0}[p.rng.IntN(4)]
	p.rng.Shuffle(n, func(i, k int) { l.pairs[i], l.pairs[k] = l.pairs[k], l.pairs[i] })
	slices.SortFunc(l.pairs[:ordered], func(a, b model.Entry) int {
		return strings.Compare(a.Key, b.Key)
	})
	if p.chance(2) {
		first := slices.CompactFunc(l.pairs[:ordered], func(a, b model.Entry) bool {
			return a.Key == b.Key
		})
		l.pairs = append(first, l.pairs[ordered:]...) // without consecutive duplicates
	}
	if n > 0 && p.chance(3) {
		l.fails = []error{stoat.ErrInvalidKey, context.Canceled}[p.rng.IntN(2)]
		l.at = p.rng.IntN(len(l.pairs))
	}
	return l
}

// into loads the pairs. When the load starts, it gets the root bucket to change from begin, and
// before the load commits, it passes that to commit. An expected failure is no error.
func (l loading) into(
	db *stoat.DB, begin func() *model.Bucket, commit func(next *model.Bucket),
) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	err := db.Load(ctx, func(yield func(key, value []byte) bool) {
		next := begin()
		var key, value []byte // reused for each pair, as callers may
		for i, pair := range l.pairs {
			if i == l.at && !l.fail(cancel, yield) {
				return
			}
			key, value = append(key[:0], pair.Key...), append(value[:0], pair.Value...)
			if !yield(key, value) {
				return
			}
			next.Put(pair.Key, pair.Value)
		}
		if l.fails == nil {
			commit(next)
		}
	})
	switch {
	case err == nil && l.fails != nil:
		return fmt.Errorf("load: no error, want %w", l.fails)
	case l.fails != nil && errors.Is(err, l.fails):
		return nil
	case err != nil:
		return fmt.Errorf("load: %w", err)
	}
	return nil
}

// fail makes the load fail if it must, and reports whether it wants more pairs.
func (l loading) fail(cancel func(), yield func(key, value []byte) bool) bool {
	switch l.fails {
	case stoat.ErrInvalidKey:
		return yield(nil, []byte("value"))
	case context.Canceled:
		cancel()
	}
	return true
}

// load loads pairs and adds them to the timeline. In either sync mode, a load is durable, and so is
// everything committed before it.
func (r *runner) load(l loading) error {
	commit := 0
	begin := func() *model.Bucket { return r.line.Newest().Clone() }
	err := l.into(r.db, begin, func(next *model.Bucket) { commit = r.line.Commit(next) })
	if err == nil {
		r.line.Ack(commit, true)
		return nil
	}
	if commit > 0 && !errors.Is(err, stoat.ErrPoisoned) {
		r.line.Settle(commit - 1) // it must never be visible
	}
	return r.tolerate(err)
}

// load is one step of the history.
func (h *history) load() error {
	n := h.rng.IntN(60)
	if h.chance(8) {
		n = 600
	}
	ref := h.ref.Begin()
	return h.loading(n, h.key).into(h.db, ref.Root, func(*model.Bucket) { ref.Commit() })
}

// loads mixes loads with small transactions, starting with an empty database.
func loads(r *runner) error {
	p := r.generator()
	key := func() string { return fmt.Sprintf("key-%03d", p.rng.IntN(120)) }
	return times(14, func(i int) error {
		err := r.load(p.loading(p.rng.IntN(50), key))
		if i%3 > 0 {
			err = errors.Join(err, r.update(func(t twin) error { return p.disturbLoads(t, key) }))
		}
		err = errors.Join(err, every(4, i, r.flush), every(5, i, r.reopen), every(6, i, r.sync))
		return errors.Join(err, every(9, i, r.compact))
	})
}

// disturbLoads commits a small transaction between loads. Once there is a bucket, no load lies
// behind all other keys.
func (p *generator) disturbLoads(t twin, key func() string) error {
	if p.chance(6) {
		b, err := t.create("bucket")
		if err != nil {
			return err
		}
		return b.put(key(), "in a bucket")
	}
	if p.chance(4) {
		return t.deleteRange(stoat.Range{Start: []byte(key()), Limit: p.rng.IntN(20)})
	}
	return errors.Join(t.put(key(), p.value()), t.delete(key()), t.putTTL(key(), "e", p.ttl()))
}

// parallelLoads loads and commits from several goroutines at once.
func parallelLoads(r *runner) error {
	var writers sync.WaitGroup
	errs := make([]error, 3)
	for w := range errs {
		p := newGenerator(r.seed+uint64(w), r.line.clock)
		key := func() string { return fmt.Sprint(p.rng.IntN(40)) }
		writers.Go(func() {
			errs[w] = times(9, func(i int) error {
				if (i+w)%3 == 0 {
					return r.load(p.loading(p.rng.IntN(20), key))
				}
				return r.update(func(t twin) error { return t.put(key(), strings.Repeat("p", 40)) })
			})
		})
	}
	writers.Wait()
	return errors.Join(errs...)
}
