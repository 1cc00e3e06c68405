package items

import (
	"slices"
	"strings"
	"testing"
)

// liar is a store that is wrong about one thing.
type liar struct {
	store
	lie string
}

// liarRepository is one of its repositories.
type liarRepository struct {
	repository
	lie string
}

func (l liar) repository(path string) (repository, error) {
	r, err := l.store.repository(path)
	return liarRepository{r, l.lie}, err
}

func (l liar) read(path string) (item, error) {
	it, err := l.store.read(path)
	if l.lie == "read" {
		it.Tags = nil
	}
	return it, err
}

func (l liarRepository) create(items ...item) error {
	if l.lie == "create" {
		items = slices.Clone(items)
		items[0].Title = "other"
	}
	return l.repository.create(items...)
}

func (l liarRepository) update(it item) error {
	if l.lie == "update" {
		return nil
	}
	return l.repository.update(it)
}

func (l liarRepository) readMany(ids []string) ([]item, error) {
	found, err := l.repository.readMany(ids)
	if l.lie == "readMany" {
		found[0] = found[1]
	}
	return found, err
}

func (l liarRepository) readAll() ([]item, error) {
	found, err := l.repository.readAll()
	if l.lie == "readAll" && len(found) > 0 {
		found = found[1:]
	}
	return found, err
}

func (l liarRepository) query(q query) ([]item, error) {
	found, err := l.repository.query(q)
	switch {
	case l.lie == "query":
		found = append(found, item{})
	case l.lie == "complex query" && q.tag != "":
		found[0].Count++
	}
	return found, err
}

func (l liarRepository) count() (int, error) {
	n, err := l.repository.count()
	switch {
	case l.lie == "count" && n == few, l.lie == "count of none" && n == 0:
		n++
	}
	return n, err
}

func (l liarRepository) keys() ([]string, error) {
	keys, err := l.repository.keys()
	if l.lie == "keys" {
		keys[0] = "other"
	}
	return keys, err
}

func TestTasks_noticeWrongAnswers(t *testing.T) {
	honest, err := find("stoat")
	if err != nil {
		t.Fatal(err)
	}
	for _, lie := range []string{
		"read", "create", "update", "readMany", "readAll", "query", "complex query", "count",
		"count of none", "keys",
	} {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			dishonest := honest
			dishonest.open = func(dir string, sync bool) (store, error) {
				s, err := honest.open(dir, sync)
				return liar{s, lie}, err
			}
			_, err := do(tinyJob(t), dishonest)
			if err == nil || !strings.Contains(err.Error(), "instead of") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestCompareItems_heedsTheOrderIfThereIsOne(t *testing.T) {
	all := newItems(newRandom(1, "test"), 3)
	turned := slices.Clone(all)
	slices.Reverse(turned)
	if err := compareItems(turned, all, anyOrder, nil); err != nil {
		t.Errorf("in no order: %v", err)
	}
	if err := compareItems(turned, all, inOrder, nil); err == nil {
		t.Error("the wrong order went unnoticed")
	}
}
