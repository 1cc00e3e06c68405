package torture

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// withHole returns a file system like fs on which one sector of a file of "db" cannot be read.
func withHole(fs vfs.FS, name string, first int64) vfs.FS {
	const sector = 4 << 10
	return faultfs.New(fs, func(op faultfs.Op) error {
		if op.Name == filepath.Join("db", name) && (op.Kind == faultfs.Map ||
			op.Kind == faultfs.ReadAt && op.Offset < first+sector && first < op.Offset+int64(op.Bytes)) {
			return errors.New("input/output error")
		}
		return nil
	})
}

func TestSalvage_losesOnlyTheTransactionsOfASectorThatCannotBeRead(t *testing.T) {
	const n = 20
	disk := killedAfter(t, func(db *stoat.DB) {
		for i := range n {
			ok(t, db.Put(fmt.Appendf(nil, "key %02d", i), bytes.Repeat([]byte{byte(i)}, 1000)))
		}
	})
	log := fileNamed(t, disk, folder.Log)
	db, report := salvageTo(t, withHole(disk, log.name, 8<<10), "new")
	all := 0
	view(t, db, func(tx *stoat.Tx) {
		for _, value := range tx.Scan(stoat.Range{}) {
			equal(t, len(value), 1000)
			all++
		}
	})
	if all < n-6 || all == n || report.Transactions != uint64(n-all) {
		t.Errorf("%d of %d keys are saved; the report:\n%v", all, n, report)
	}
	if text := report.String(); !strings.Contains(text, fmt.Sprintf("%s at %d", log.name, 8<<10)) ||
		!strings.Contains(text, "input/output error") {
		t.Errorf("the report does not say what cannot be read:\n%s", text)
	}
}

func TestSalvage_readsAManifestAroundWhatCannotBeRead(t *testing.T) {
	const n = 100
	disk := killedAfter(t, func(db *stoat.DB) {
		for i := range n {
			ok(t, db.Put(fmt.Appendf(nil, "key %02d", i), []byte("value")))
			ok(t, db.Flush())
		}
	})
	for _, without := range []bool{false, true} {
		disk := disk.CrashKeepAll()
		if copied := fileNamed(t, disk, folder.ManifestCopy); without {
			exchange(t, disk, filepath.Join("db", copied.name), nil)
		}
		f := fileNamed(t, disk, folder.Manifest)
		last := int64(len(f.data)-1) &^ (4<<10 - 1)
		_, report := salvageTo(t, withHole(disk, f.name, last), "new")
		if report.Entries != n || report.Older != without ||
			!strings.Contains(report.String(), "input/output error") {
			t.Errorf("%d bytes, the report:\n%v", len(f.data), report)
		}
	}
}

// unlike is a file system on which some files are not regular.
type unlike struct {
	vfs.FS
	name string
	err  error
}

// OpenFolder implements vfs.FS.
func (u unlike) OpenFolder(dir string) (vfs.Folder, error) {
	folder, err := u.FS.OpenFolder(dir)
	return unlikeFolder{folder, u.name, u.err}, err
}

// unlikeFolder is a folder in which some files are not regular.
type unlikeFolder struct {
	vfs.Folder
	name string
	err  error
}

// IsRegular implements vfs.Files.
func (u unlikeFolder) IsRegular(name string) (bool, error) {
	if filepath.Base(name) == u.name {
		return false, u.err
	}
	return u.Folder.IsRegular(name)
}

func TestSalvage_saysThatALogWasNotLookedAt(t *testing.T) {
	disk := killedAfter(t, func(db *stoat.DB) {
		ok(t, db.Put([]byte("old"), []byte("value")))
		ok(t, db.Flush())
		ok(t, db.Put([]byte("new"), []byte("value")))
	})
	for _, kind := range []folder.Kind{
		folder.Log, folder.Manifest, folder.ManifestCopy,
	} {
		for why, err := range map[string]error{
			"no regular file": nil, "permission denied": errors.New("permission denied"),
		} {
			disk := disk.CrashKeepAll()
			name := fileNamed(t, disk, kind).name
			_, report := salvageTo(t, unlike{disk, name, err}, "new")
			text := report.String()
			if !report.Older || !strings.Contains(text, name) || !strings.Contains(text, why) {
				t.Errorf("%s, %v: %s", name, err, text)
			}
		}
	}
}
