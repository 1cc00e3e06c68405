package remote_test

import (
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

// What a restore that did not end has left is no database, and leaves the folder to one.
func TestOpen_takesRemainsForVacant(t *testing.T) {
	for _, names := range [][]string{{"UNFINISHED-BACKUP"}, {"UNFINISHED-BACKUP", "000001.table"}} {
		files := memfs.New()
		ok(t, files.MkdirAll("db"))
		for _, name := range names {
			file, err := files.Create("db/" + name)
			ok(t, err)
			ok(t, file.Close())
		}
		store := memstore.New()
		_, err := open(t, store, files, quick(), engine.Tuning{})
		if wantErr(t, err, remote.ErrNone); strings.Count(err.Error(), remote.ErrNone.Error()) > 1 {
			t.Errorf("it says so twice: %v", err)
		}
		first := mustOpen(t, store, memfs.New())
		ok(t, first.Put([]byte("a"), nil))
		ok(t, first.Close())
		second := mustOpen(t, store, files)
		_, err = second.Get([]byte("a"))
		ok(t, err)
	}
}
