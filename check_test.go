package stoat_test

import (
	"context"
	"testing"

	"github.com/stoatdb/stoat"
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
