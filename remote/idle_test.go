package remote_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// slowDisk is a file system on which it takes minutes to release a lock: whatever is done beside
// closing a database has the time for it.
type slowDisk struct{ vfs.FS }

func (d slowDisk) OpenFolder(dir string) (vfs.Folder, error) {
	opened, err := d.FS.OpenFolder(dir)
	return slowFolder{opened}, err
}

type slowFolder struct{ vfs.Folder }

func (f slowFolder) Lock(name string) (vfs.Lock, error) {
	taken, err := f.Folder.Lock(name)
	return slowLock{taken}, err
}

type slowLock struct{ vfs.Lock }

func (l slowLock) Close() error {
	<-time.After(3 * time.Minute)
	return l.Lock.Close()
}

// Close makes tables of what is in memory, and leaves them to the next session.
func TestClose_storesNothingIfCommitsAreShipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, disk := faultstore.NewServer(memstore.New()), slowDisk{memfs.New()}
		for session, keys := range []int{200, 0, 0} {
			client := server.Client(nil)
			db, err := open(t, client, disk, quick(), engine.Tuning{})
			ok(t, err)
			for i := range keys {
				ok(t, db.Put(fmt.Append(nil, "key", i), make([]byte, 100)))
			}
			ok(t, db.Ship(t.Context()))
			synctest.Wait()
			before := client.Count(faultstore.Create)
			ok(t, db.Close())
			if n := client.Count(faultstore.Create) - before; n > 0 {
				t.Errorf("in session %d, Close creates %d objects", session, n)
			}
			if n := client.Count(faultstore.Create); session == 2 && n > 1 {
				t.Errorf("an idle session creates %d objects, and one is a claim", n)
			}
		}
	})
}

// Whatever has happened becomes old and is collected, and then there is nothing left to do.
func TestIdle_endsInNoRequests(t *testing.T) {
	for _, tuning := range []engine.Tuning{{}, small()} { // commits in the log, and in tables
		synctest.Test(t, func(t *testing.T) {
			client, disk := faultstore.NewServer(memstore.New()).Client(nil), memfs.New()
			o := quick()
			o.Retention = time.Hour
			for session := range 2 {
				db, err := open(t, client, disk, o, tuning)
				ok(t, err)
				for i := range 20 {
					ok(t, db.Put(fmt.Append(nil, "key", i), make([]byte, 1000)))
					<-time.After(time.Minute)
				}
				<-time.After(20 * time.Hour)
				before := client.Count()
				<-time.After(100 * time.Hour)
				if n := client.Count() - before; n > 0 {
					t.Errorf("in session %d, an idle database makes %d requests", session, n)
				}
				if n := len(names(t, client, "state/")); n > 2 {
					t.Errorf("in session %d, %d states stay", session, n)
				}
				ok(t, db.Close())
			}
		})
	}
}

func TestClose_beginsToStoreNoFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := 0 // one at a time
		plan := func(r faultstore.Request) faultstore.Fate {
			if r.Op == faultstore.Put && strings.HasPrefix(r.Name, "data/") {
				files++
				<-time.After(time.Minute)
			}
			return faultstore.Answered
		}
		o := quick()
		o.Uploads, o.CloseTimeout = 1, time.Second
		client := faultstore.NewServer(memstore.New()).Client(plan)
		db, err := open(t, client, slowDisk{memfs.New()}, o, smallTables())
		ok(t, err)
		load(t, db)
		synctest.Wait()
		before := client.Count(faultstore.List)
		wantErr(t, db.Close(), remote.ErrUnshipped)
		if n := client.Count(faultstore.List) - before; n > 0 || files != 1 {
			t.Errorf("Close lists objects %d times; %d files were stored", n, files)
		}
	})
}
