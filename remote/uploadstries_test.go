package remote_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/memstore"
)

// TestUploads_areNotHeldUpByFailuresBetweenThem has each file fail once, so that each try stores
// one: the pauses must not grow, as they do where nothing is stored.
func TestUploads_areNotHeldUpByFailuresBetweenThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tried sync.Map
		inner := memstore.New()
		client := faultstore.NewServer(inner).Client(func(r faultstore.Request) faultstore.Fate {
			if r.Op != faultstore.Put || !strings.HasPrefix(r.Name, "data/") {
				return faultstore.Answered
			}
			if _, again := tried.LoadOrStore(r.Name, true); !again {
				return faultstore.Failed
			}
			return faultstore.Answered
		})
		o := quick()
		o.Uploads = 1
		db, err := open(t, client, memfs.New(), o, engine.Tuning{TableBytes: 1 << 10, BlockBytes: 256})
		ok(t, err)
		load(t, db)
		began := time.Now()
		ok(t, db.Ship(t.Context()))
		files := len(names(t, inner, "data/"))
		if took := time.Since(began); files < 10 || took > time.Duration(files)*100*time.Millisecond {
			t.Errorf("%d files took %v", files, took)
		}
		ok(t, db.Close())
	})
}
