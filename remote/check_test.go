package remote_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
)

// interrupted is a context that runs something when it is looked at for the first time.
type interrupted struct {
	context.Context
	run func()
}

func (i *interrupted) Err() error {
	if run := i.run; run != nil {
		i.run = nil
		run()
	}
	return i.Context.Err()
}

// TestCheck_readsFilesThatAreReplacedBeforeTheyAreStored compacts everything while a check is under
// way and the store takes no files: those that are checked have left the folder then, and are
// nowhere else.
func TestCheck_readsFilesThatAreReplacedBeforeTheyAreStored(t *testing.T) {
	var down atomic.Bool
	client := faultstore.NewServer(memstore.New()).Client(func(r faultstore.Request) faultstore.Fate {
		if r.Op != faultstore.Get && strings.HasPrefix(r.Name, "data/") && down.Load() {
			return faultstore.Failed
		}
		return faultstore.Answered
	})
	db, err := open(t, client, memfs.New(), quick(), smallTables())
	ok(t, err)
	down.Store(true)
	write := func() {
		load(t, db)
		ok(t, db.Update(func(tx *stoat.Tx) error {
			for i := range 5 {
				if err := tx.Put(largeKey(i), largeValue(i, 100_000)); err != nil {
					return err
				}
			}
			return nil
		}))
		ok(t, db.Flush())
	}
	for range 2 {
		write()
	}
	for _, check := range []func(context.Context) error{db.Check, db.CheckQuick} {
		replaced := &interrupted{t.Context(), func() {
			write()
			ok(t, db.Compact(t.Context()))
		}}
		ok(t, check(replaced))
		if replaced.run != nil {
			t.Error("nothing was replaced meanwhile")
		}
	}
	down.Store(false)
	ok(t, db.Close())
}
