package replica

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/model"
)

// root of a collection of several chunks: that of the model.
func TestRoot_ofManyChunksIsThatOfTheModel(t *testing.T) {
	p := newPeer(t, nil)
	p.update(func(tx *stoat.Tx) error {
		for id := range int64(3000) {
			v := task{ID: id, Title: strings.Repeat("x", int(id%200)), Votes: 1}
			if err := p.tasks.Put(tx, &v); err != nil {
				return err
			}
		}
		return nil
	})
	want, err := model.Root(p.space.id, p.about(), factsOf(p))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.root(); got != want {
		t.Error("the root is not that of the model")
	}
	var chunks uint64
	err = p.db.View(func(tx *stoat.Tx) error {
		tr, err := p.space.in(tx)
		if err != nil {
			return err
		}
		all, err := tr.subtrees()
		if err != nil {
			return err
		}
		chunks = all[0].Leaves
		got, err := p.space.CollectionRoot(tx, "tasks")
		if err == nil && got != all[0].Root {
			t.Error("the root of the collection is not that of its subtree")
		}
		return err
	})
	if err != nil || chunks < 3 {
		t.Errorf("%d chunks: %v", chunks, err)
	}
}
