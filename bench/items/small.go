package items

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/stoatdb/stoat/bench/suite"
)

// small is the task "small".
func (r *run) small() error {
	if err := r.instances(); err != nil {
		return fmt.Errorf("new instances: %w", err)
	}
	random := r.data("small")
	r.contents = map[string][]item{
		pathGrowing: nil,
		pathBulk:    nil,
		pathUpdated: newItems(random, some),
		pathFew:     newItems(random, few),
		pathSome:    newItems(random, some),
	}
	if err := r.start("small"); err != nil {
		return err
	}
	for _, path := range []string{pathUpdated, pathFew, pathSome} {
		if err := r.load(path); err != nil {
			return err
		}
	}
	rows := []func() error{
		r.creations, r.bulkCreations, r.updates,
		r.reads, r.bulkReads, r.queries, r.counts, r.allKeys,
	}
	for _, row := range rows {
		if err := row(); err != nil {
			return err
		}
	}
	return r.verify("small")
}

// instances measures new databases, each with a first repository. The first one is not recorded.
func (r *run) instances() error {
	if !r.job.Wants("create_instance", "open_empty") {
		return nil
	}
	var created, opened []float64
	for range r.plan.instances + 1 {
		create, open, err := r.instance()
		if err != nil {
			return err
		}
		created, opened = append(created, create), append(opened, open)
	}
	if r.job.Wants("create_instance") {
		r.out(suite.At{Row: "create_instance"}, created[1:]...)
	}
	if r.job.Wants("open_empty") {
		r.out(suite.At{Row: "open_empty"}, opened[1:]...)
	}
	return nil
}

// instance creates a database and a repository in it, returns how long each took, and removes the
// database.
func (r *run) instance() (create, open float64, err error) {
	dir, err := r.folder("instance")
	if err != nil {
		return 0, 0, err
	}
	start := time.Now()
	s, err := r.open(dir, r.job.Sync)
	if err != nil {
		return 0, 0, err
	}
	create = since(start)
	start = time.Now()
	empty, err := s.repository("/bench/empty")
	if err != nil {
		return 0, 0, errors.Join(err, s.close())
	}
	open = since(start)
	n, err := empty.count()
	return create, open, errors.Join(compare(n, 0, err), s.close(), os.RemoveAll(dir))
}

// creations measures creating items one by one.
func (r *run) creations() error {
	return r.grow("create", pathGrowing, 1)
}

// bulkCreations measures creating many items at once.
func (r *run) bulkCreations() error {
	return r.grow("bulk_create", pathBulk, some)
}

// grow measures creating items, the given number at once, in an empty repository. Its contents are
// compared at the end of the task.
func (r *run) grow(row, path string, size int) error {
	if !r.job.Wants(row) {
		return nil
	}
	all := newItems(r.data(row), (r.plan.samples+1)*size)
	r.contents[path] = all
	return r.sample(suite.At{Row: row}, r.plan.samples, 1, func(i int) operation {
		batch := all[i*size : (i+1)*size]
		return operation{do: func() error { return r.opened[path].create(batch...) }}
	})
}

// updates measures updates of random items. They are compared at the end of the task.
func (r *run) updates() error {
	random := r.choices("update")
	all := r.contents[pathUpdated]
	return r.sample(suite.At{Row: "update"}, r.plan.samples, 1, func(i int) operation {
		k := random.IntN(len(all))
		it := newItem(random, len(all)+i)
		it.ID = all[k].ID
		all[k] = it
		return operation{do: func() error { return r.opened[pathUpdated].update(it) }}
	})
}

// reads measures reading random items by path.
func (r *run) reads() error {
	random := r.choices("read")
	all := r.contents[pathSome]
	paths, got, want := make([]string, r.plan.calls), make([]item, r.plan.calls), []item(nil)
	return r.sample(suite.At{Row: "read"}, r.plan.samples, r.plan.calls, func(int) operation {
		want = pick(random, all, want[:0], len(paths))
		for i, it := range want {
			paths[i] = join(pathSome, it.ID)
		}
		return operation{
			do: func() (err error) {
				for i, path := range paths {
					if got[i], err = r.store.read(path); err != nil {
						return err
					}
				}
				return nil
			},
			check: func() error { return compareItems(got, want, inOrder, nil) },
		}
	})
}

// pick appends random items to dst.
func pick(random *rand.Rand, all, dst []item, n int) []item {
	for range n {
		dst = append(dst, all[random.IntN(len(all))])
	}
	return dst
}

// bulkReads measures reading many items at once.
func (r *run) bulkReads() error {
	random := r.choices("bulk_read")
	all := r.contents[pathSome]
	var ids []string
	for _, it := range all {
		ids = append(ids, it.ID)
	}
	return r.sample(suite.At{Row: "bulk_read"}, r.plan.samples, 1, func(int) operation {
		random.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		var got []item
		return operation{
			do: func() (err error) {
				got, err = r.opened[pathSome].readMany(ids)
				return err
			},
			check: func() error { return compareItems(got, all, anyOrder, nil) },
		}
	})
}

// simpleQuery returns the study's query that finds 49 of 100 items.
func simpleQuery() query { return query{above: 50} }

// complexQuery returns the study's query that combines two filters and an order.
func complexQuery() query { return query{above: 30, below: 70, tag: "tag50", byCount: true} }

// queries measures both queries.
func (r *run) queries() error {
	if err := r.find("query_simple", simpleQuery()); err != nil {
		return err
	}
	return r.find("query_complex", complexQuery())
}

// find measures a query.
func (r *run) find(row string, q query) error {
	want := q.find(r.contents[pathSome])
	return r.sample(suite.At{Row: row}, r.plan.samples, 1, func(int) operation {
		var got []item
		return operation{
			do: func() (err error) {
				got, err = r.opened[pathSome].query(q)
				return err
			},
			check: func() error { return compareItems(got, want, order(q.byCount), nil) },
		}
	})
}

// counts measures counting a few items.
func (r *run) counts() error {
	got := make([]int, r.plan.calls)
	want := slices.Repeat([]int{few}, r.plan.calls)
	return r.sample(suite.At{Row: "count"}, r.plan.samples, r.plan.calls, func(int) operation {
		return operation{
			do: func() (err error) {
				for i := range got {
					if got[i], err = r.opened[pathFew].count(); err != nil {
						return err
					}
				}
				return nil
			},
			check: func() error {
				if !slices.Equal(got, want) {
					return fmt.Errorf("counted %v items instead of %d", got, few)
				}
				return nil
			},
		}
	})
}

// allKeys measures listing the ids of a few items.
func (r *run) allKeys() error {
	got := make([][]string, r.plan.calls)
	return r.sample(suite.At{Row: "keys"}, r.plan.samples, r.plan.calls, func(int) operation {
		return operation{
			do: func() (err error) {
				for i := range got {
					if got[i], err = r.opened[pathFew].keys(); err != nil {
						return err
					}
				}
				return nil
			},
			check: func() error {
				for _, keys := range got {
					if err := compareKeys(keys, r.contents[pathFew]); err != nil {
						return err
					}
				}
				return nil
			},
		}
	})
}

// data returns the source of the items for a purpose, which is the same for all engines and rounds.
func (r *run) data(purpose string) *rand.Rand { return newRandom(r.job.Seed, purpose) }

// choices returns the source of a row's choices in this round, which is the same for all engines.
func (r *run) choices(row string) *rand.Rand {
	return newRandom(r.job.Seed, fmt.Sprintf("%s %d", row, r.job.Round))
}
