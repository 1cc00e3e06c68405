package torture

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/model"
)

// shrinkTries limits how often a plan is performed to shrink it.
const shrinkTries = 2000

// shrinker makes plans smaller that keep failing.
type shrinker struct {
	fails func(p plan) bool
	tries int
}

// shrink returns a part of p, with simpler actions, that still fails. It removes ever smaller
// chunks of actions and then simplifies actions one by one, until nothing more can go or it has
// called fails often enough. p must fail.
func shrink(p plan, fails func(p plan) bool) plan {
	s := &shrinker{fails, shrinkTries}
	for {
		before := p
		p = s.rename(s.simplify(s.cut(p)))
		if slices.Equal(p, before) || s.tries <= 0 {
			return p
		}
	}
}

// try reports whether a smaller plan fails.
func (s *shrinker) try(p plan) bool {
	s.tries--
	return s.tries >= 0 && s.fails(p)
}

// cut removes chunks.
func (s *shrinker) cut(p plan) plan {
	for size := len(p) / 2; size > 0; size /= 2 {
		for from := len(p) - size; from >= 0; from -= size {
			rest := append(slices.Clone(p[:from]), p[from+size:]...)
			if s.try(rest) {
				p = rest
				from = min(from, len(p))
			}
		}
	}
	return p
}

// simplify makes single actions simpler.
func (s *shrinker) simplify(p plan) plan {
	for i := range p {
		for again := true; again; {
			again = false
			for _, simpler := range p[i].simpler() {
				next := slices.Clone(p)
				next[i] = simpler
				if s.try(next) {
					p, again = next, true
					break
				}
			}
		}
	}
	return p
}

// rename gives keys short names everywhere, and moves the contents of buckets to the root.
func (s *shrinker) rename(p plan) plan {
	for i, a := range p {
		if a.in != "" {
			p = s.replace(p, func(b *action) {
				if b.in == a.in {
					b.in = ""
				}
			})
		}
		if len(a.key) > 2 {
			p = s.replace(p, func(b *action) {
				if b.key == a.key {
					b.key = fmt.Sprintf("%c%c", 'a'+i/26%26, 'a'+i%26)
				}
			})
		}
	}
	return p
}

// replace tries to change all actions at once.
func (s *shrinker) replace(p plan, change func(a *action)) plan {
	next := slices.Clone(p)
	for i := range next {
		change(&next[i])
	}
	if s.try(next) {
		return next
	}
	return p
}

// simpler returns simpler actions of the same verb, the simplest first.
func (a action) simpler() (all []action) {
	add := func(change func(a *action)) {
		b := a
		if change(&b); b != a {
			all = append(all, b)
		}
	}
	add(func(a *action) { a.value = payload{} })
	add(func(a *action) { a.in = "" })
	add(func(a *action) { a.reader = 0 })
	add(func(a *action) { a.reverse = false })
	add(func(a *action) { a.end = "" })
	add(func(a *action) { a.n = 0 })
	add(func(a *action) { a.n /= 2 })
	add(func(a *action) { a.n = max(a.n-1, 0) })
	add(func(a *action) { a.value.size /= 2 })
	add(func(a *action) { a.value.size = max(a.value.size-1, 0) })
	add(func(a *action) { a.value.seed = 0 })
	add(func(a *action) { a.key = a.key[:len(a.key)/2] })
	return all
}

// forgetful is a model that lies: after a flush, it has lost large values.
type forgetful struct {
	*modelStore
	flushed bool
}

func (f *forgetful) keepUp(verb string) error {
	f.flushed = f.flushed || verb == "flush"
	return nil
}

func (f *forgetful) view(fn func(b txn) error) error {
	return f.modelStore.view(func(b txn) error { return fn(forgetfulTxn{b, f.flushed}) })
}

// forgetfulTxn is a transaction of a forgetful model.
type forgetfulTxn struct {
	txn
	flushed bool
}

func (x forgetfulTxn) space(path string) (space, error) {
	s, err := x.txn.space(path)
	return forgetfulSpace{s, x.flushed}, err
}

// forgetfulSpace is a bucket of a forgetful model.
type forgetfulSpace struct {
	space
	flushed bool
}

func (s forgetfulSpace) get(key string) (string, error) {
	value, err := s.space.get(key)
	if s.flushed && len(value) >= 100 {
		value = ""
	}
	return value, err
}

func TestShrink_leavesWhatMakesADifference(t *testing.T) {
	fails := func(p plan) bool {
		clock := model.NewClock()
		got, err := perform(&forgetful{modelStore: &modelStore{clock: clock}}, clock, p)
		return firstDifference(p, got, expect(p), err) != ""
	}
	found := 0
	for seed := range uint64(12) {
		p := drawPlan(seed, 600)
		if !fails(p) {
			continue
		}
		found++
		p = shrink(p, fails)
		if !fails(p) {
			t.Errorf("seed %d: what was shrunk does not fail:\n%s", seed, p.text())
		}
		// It takes a write of at least 100 bytes, a flush and a get.
		if len(p) != 3 || p[2].verb != "get" || p[0].verb != "flush" && p[1].verb != "flush" {
			t.Errorf("seed %d: shrunk to\n%s", seed, p.text())
		}
	}
	if found == 0 {
		t.Error("no plan makes a difference")
	}
}
