package tail

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/memstore"
)

// newLog returns the log of a database in a new store, without a pause between tries.
func newLog(t *testing.T) *history.Log {
	t.Helper()
	codec, err := object.NewCodec()
	if err != nil {
		t.Fatal(err)
	}
	id := object.ID{}
	return &history.Log{
		Store: memstore.New(), Codec: codec, Database: [16]byte{1},
		NewID: func() object.ID { id[0]++; return id },
		Now:   func() uint64 { return 1 },
		Pause: func(ctx context.Context, _ int) error { return ctx.Err() },
	}
}

// A claim that cannot be made is not tried again, however patient its caller is.
func TestTakeOver_endsIfThereIsNoClaim(t *testing.T) {
	log := newLog(t)
	if _, err := log.Claim(t.Context(), object.Claim{Branch: 1, Window: 1}); err != nil {
		t.Fatal(err)
	}
	disk := memfs.New()
	if err := disk.MkdirAll("db"); err != nil {
		t.Fatal(err)
	}
	folder, err := disk.OpenFolder("db")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		tail, err := Open(t.Context(), log, Config{
			Poll: time.Second, PollMax: time.Minute,
			Replica: func(database, _ [16]byte) (*engine.Replica, error) {
				return engine.OpenReplica(folder, "db", database, engine.Options{}), nil
			},
			Claimed: func(history.Claims) {},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer tail.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		never, tries := errors.New("there is no claim"), 0
		err = tail.TakeOver(ctx, log, func(*object.State) (object.Claim, error) {
			tries++
			return object.Claim{}, never
		}, nil)
		if !errors.Is(err, never) || tries != 1 {
			t.Errorf("after %d tries: %v", tries, err)
		}
	})
}
