package sparse

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// asked is a store without files, which says that it was asked for one.
type asked struct{}

var errAsked = errors.New("the store is asked")

func (asked) Open(string) (vfs.File, error)             { return nil, errAsked }
func (asked) OpenSized(string, int64) (vfs.File, error) { return nil, errAsked }

// TestFolder_asksTheStore looks for a table that a folder has, one that it lacks, and a lock that
// it lacks, which no store has.
func TestFolder_asksTheStore(t *testing.T) {
	files := memfs.New()
	if err := files.MkdirAll("db"); err != nil {
		t.Fatal(err)
	}
	if file, err := files.Create("db/000001.table"); err != nil || file.Close() != nil {
		t.Fatal(err)
	}
	opened, err := Over(files, asked{}).OpenFolder("db")
	if err != nil {
		t.Fatal(err)
	}
	want := func(what, name string, want error, elsewhere bool) {
		t.Helper()
		_, open := opened.Open("db/" + name)
		_, sized := vfs.OpenSized(opened, "db/"+name, 10)
		if !errors.Is(open, want) || !errors.Is(sized, want) {
			t.Errorf("%s, %s: %v, %v", what, name, open, sized)
		}
		if vfs.Elsewhere(opened, "db/"+name) != elsewhere {
			t.Errorf("%s, %s: it is elsewhere: %t", what, name, !elsewhere)
		}
		if left := vfs.HasLeft(opened, "db/"+name); left != (want != nil) {
			t.Errorf("%s, %s: it has left the folder: %t", what, name, left)
		}
	}
	want("open", "000001.table", nil, false)
	want("open", "000002.table", errAsked, true)
	want("open", "LOCK", fs.ErrNotExist, false)
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	want("closed", "000001.table", errAsked, false) // whoever needs it has opened it
	want("closed", "000002.table", errAsked, false) // nobody knows
	want("closed", "LOCK", fs.ErrClosed, false)
}
