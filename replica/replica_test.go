package replica

import (
	"reflect"
	"testing"

	"github.com/stoatdb/stoat"
)

func TestSync_bringsRecordsOver(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	want := task{ID: 1, Title: "Milk", Votes: -2, Best: 7, First: -1, Tags: []string{"a", "b"},
		Prices: map[string]int64{"x": 1}}
	a.put(want)
	meet(t, a, b)
	if got := b.get(1); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("got %+v", got)
	}
	b.edit(func(v *task) { v.Done = true })
	meet(t, a, b)
	if want.Done = true; !reflect.DeepEqual(*a.get(1), want) {
		t.Errorf("got %+v", a.get(1))
	}
	agree(t, a, b)
}

func TestMerge_byRule(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "Milk", Votes: 10, Best: 5, First: 5, Tags: []string{"x", "y"},
		Prices: map[string]int64{"p": 1, "q": 2}})
	meet(t, a, b)
	a.edit(func(v *task) {
		v.Title, v.Votes, v.Best, v.First = "Oat milk", 11, 9, 4
		v.Tags, v.Prices = []string{"z", "y"}, map[string]int64{"p": 7}
	})
	b.now = noon.Add(1e9)
	b.edit(func(v *task) {
		v.Votes, v.Best, v.First, v.Done = 8, 8, 6, true
		v.Tags, v.Prices = []string{"x", "y", "w"}, map[string]int64{"p": 1, "q": 3}
	})
	meet(t, a, b)
	want := task{ID: 1, Title: "Oat milk", Done: true, Votes: 9, Best: 9, First: 4,
		Tags: []string{"w", "y", "z"}, Prices: map[string]int64{"p": 7, "q": 3}}
	for _, p := range []*peer{a, b} {
		if got := p.get(1); !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v", got)
		}
	}
	agree(t, a, b)
}

func TestMerge_editBeatsDeletion(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	a.put(task{ID: 1, Title: "Milk", Votes: 3})
	meet(t, a, b)
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, 1) })
	b.edit(func(v *task) { v.Votes++ })
	meet(t, a, b)
	for _, p := range []*peer{a, b} {
		if got := p.get(1); got == nil || got.Title != "Milk" || got.Votes != 4 {
			t.Errorf("got %+v", got)
		}
	}
	a.update(func(tx *stoat.Tx) error { return a.tasks.Delete(tx, 1) })
	meet(t, a, b)
	if a.get(1) != nil || b.get(1) != nil {
		t.Error("the record is not deleted")
	}
	agree(t, a, b)
}

// A replica that was put back to an older state, and has written nothing since, takes its own
// entries back from others. It continues in a log of its own, because a copy may continue this one.
func TestSync_givesARestoredReplicaItsLogBack(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	b.put(task{ID: 1, Votes: 2})
	meet(t, a, b)
	a.joined = 0
	restored := newPeer(t, a) // the same device, with the same log
	meet(t, a, restored)
	agree(t, a, restored)
	restored.edit(func(v *task) { v.Votes++ })
	meet(t, a, restored)
	agree(t, a, restored)
	if a.get(1).Votes != 3 || restored.ownLog() == 1 {
		t.Errorf("got %+v", a.get(1))
	}
}
