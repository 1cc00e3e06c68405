package stoat_test

import (
	"context"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestCheck_worksInMemory(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) { put(t, create(t, tx, "bucket"), "a", "b") })
	ok(t, db.Check(t.Context()))
	ok(t, db.Flush())
	ok(t, db.Check(t.Context()))
	ok(t, db.CheckQuick(t.Context()))
}

func TestCheck_endsWithItsContext(t *testing.T) {
	db := memory(t)
	ok(t, db.Put([]byte("a"), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantErr(t, db.Check(ctx), context.Canceled)
	wantErr(t, db.CheckQuick(ctx), context.Canceled)
}

// closing is a context that closes a database when it is looked at for the first time.
type closing struct {
	context.Context
	t  *testing.T
	db *stoat.DB
}

func (c *closing) Err() error {
	if db := c.db; db != nil {
		c.db = nil
		ok(c.t, db.Close())
	}
	return c.Context.Err()
}

func TestCheck_goesOnIfTheDatabaseIsClosed(t *testing.T) {
	for _, o := range []*stoat.Options{nil, keyed(1)} {
		db := openOn(t, memfs.New(), o)
		ok(t, db.Put([]byte("key"), []byte("value")))
		ok(t, db.Check(&closing{t.Context(), t, db}))
		wantErr(t, db.Check(t.Context()), stoat.ErrClosed)
	}
}
