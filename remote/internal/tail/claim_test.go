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

// open opens a tail of the log, in a folder of its own.
func open(t *testing.T, log *history.Log, claimed func(history.Claims)) *Tail {
	t.Helper()
	disk := memfs.New()
	if err := disk.MkdirAll("db"); err != nil {
		t.Fatal(err)
	}
	folder, err := disk.OpenFolder("db")
	if err != nil {
		t.Fatal(err)
	}
	tail, err := Open(t.Context(), log, Config{
		Poll: time.Second, PollMax: time.Minute,
		Replica: func(database, _ [16]byte) (*engine.Replica, error) {
			return engine.OpenReplica(folder, "db", database, engine.Options{}), nil
		},
		Claimed: claimed,
	})
	if err != nil {
		t.Fatal(err)
	}
	return tail
}

// A claim that cannot be made is not tried again, however patient its caller is.
func TestTakeOver_endsIfThereIsNoClaim(t *testing.T) {
	log := newLog(t)
	if _, err := log.Claim(t.Context(), object.Claim{Branch: 1, Window: 1}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		tail := open(t, log, func(history.Claims) {})
		defer tail.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		never, tries := errors.New("there is no claim"), 0
		err := tail.TakeOver(ctx, log, func(*object.State) (object.Claim, error) {
			tries++
			return object.Claim{}, never
		}, nil)
		if !errors.Is(err, never) || tries != 1 {
			t.Errorf("after %d tries: %v", tries, err)
		}
	})
}

// A claim may be created where the log was trimmed meanwhile. It does not count, and before the
// next one the replica shows what the writer has done that took over in between.
func TestTakeOver_showsTheStateThatItClaimsAfter(t *testing.T) {
	log := newLog(t)
	if _, err := log.Claim(t.Context(), object.Claim{Branch: 1, Window: 1}); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		known := 0 // claims that the replica knows
		tail := open(t, log, func(claims history.Claims) { known = len(claims) })
		tries := 0
		claim := func(*object.State) (object.Claim, error) {
			if tries++; tries == 1 {
				takeOverAndTrim(t, log)
			}
			return object.Claim{Branch: 3, Window: 1}, nil
		}
		settle := func(*engine.Replica, *history.Writer) error {
			if known != 2 {
				t.Errorf("the replica knows %d claims, want 2", known)
			}
			return nil
		}
		if err := tail.TakeOver(t.Context(), log, claim, settle); err != nil || tries != 2 {
			t.Errorf("after %d tries: %v", tries, err)
		}
	})
}

// takeOverAndTrim claims the role of the writer, stores the state after that, and deletes the log.
func takeOverAndTrim(t *testing.T, log *history.Log) {
	t.Helper()
	w, err := log.Claim(t.Context(), object.Claim{Branch: 2, Window: 1})
	if err != nil {
		t.Fatal(err)
	}
	if saved, err := log.Save(t.Context(), w.State()); err != nil || !saved {
		t.Fatal(saved, err)
	}
	objects, err := log.Store.List(t.Context(), "log/", "", 10)
	if err != nil || len(objects) != 2 {
		t.Fatal(objects, err)
	}
	for _, o := range objects {
		if err := log.Store.Delete(t.Context(), []string{o.Name}); err != nil {
			t.Fatal(err)
		}
	}
}
