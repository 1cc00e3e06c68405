package engine

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// refused is a folder that must not be opened.
type refused struct {
	disk *memfs.FS
	want error  // what the error matches
	name string // what the message names
}

// wantRefused checks that neither kind of open takes a folder or changes it.
func wantRefused(t *testing.T, r refused) {
	t.Helper()
	if len(named(t, r.disk, folder.LockName)) > 0 {
		put(t, r.disk, folder.LockName, []byte("of the last owner"))
	}
	before := image(t, r.disk)
	for _, readOnly := range []bool{false, true} {
		o := calm()
		o.ReadOnly = readOnly
		e, err := Open(r.disk, "db", o)
		if err == nil {
			ok(t, e.Close())
		}
		if !errors.Is(err, r.want) {
			t.Errorf("read-only %v: error %v, want %v", readOnly, err, r.want)
		} else if !strings.Contains(err.Error(), r.name) {
			t.Errorf("read-only %v: error %v does not name %s", readOnly, err, r.name)
		}
		wantImage(t, r.disk, before)
	}
	if l, err := r.disk.Lock("db/" + folder.LockName); err == nil {
		ok(t, l.Close())
	} else if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still locked: %v", err)
	}
}

// newer makes a file header say that the version is 2.
func newer(p []byte) []byte {
	const versionAt, sumAt = 8, 44
	binary.LittleEndian.PutUint32(p[versionAt:], 2)
	binary.LittleEndian.PutUint32(p[sumAt:], checksum.Of(p[:sumAt]))
	return p
}

func TestOpen_refusesAFolderThatIsNotOurs(t *testing.T) {
	for _, names := range [][]string{
		{"holiday.jpg"},
		{folder.LockName, "holiday.jpg"},
		{"000001.log", "holiday.jpg", "000002.table"},
		{"1.log"},
		{"1.table"},
		{"MANIFEST-1"},
	} {
		disk := memfs.New()
		ok(t, disk.MkdirAll("db"))
		for _, name := range names {
			put(t, disk, name, []byte("not ours"))
		}
		foreign := names[min(1, len(names)-1)]
		wantRefused(t, refused{disk, corrupt.ErrFormat, foreign})
	}
}

func TestOpen_refusesAForeignFolderWithTheBeginningOfAManifest(t *testing.T) {
	disk := memfs.New()
	ok(t, disk.MkdirAll("db"))
	put(t, disk, "MANIFEST-000007", nil)
	put(t, disk, "precious.txt", []byte("mine"))
	wantRefused(t, refused{disk, corrupt.ErrFormat, "precious.txt"})
}

func TestOpen_refusesADamagedFolderWithoutALock(t *testing.T) {
	disk := closed(t, "a")
	removeCopies(t, disk)
	name := named(t, disk, "MANIFEST-")[0]
	put(t, disk, name, flipped(content(t, disk, name), 3))
	ok(t, disk.Remove("db/"+folder.LockName))
	wantRefused(t, refused{disk, corrupt.ErrFormat, name})
}

// A closed database has no torn files: whatever is missing of it was there.
func TestOpen_refusesAClosedFolderOfWhichSomethingIsMissing(t *testing.T) {
	whole := func() *memfs.FS {
		disk := memfs.New()
		e := mustOpen(t, disk, calm())
		for _, word := range []string{"b", "a", "c"} {
			mustCommit(t, e, "a", "c", word)
			ok(t, e.Flush())
		}
		ok(t, e.Close())
		removeCopies(t, disk)
		return disk
	}
	name := named(t, whole(), "MANIFEST-")[0]
	for size := range len(content(t, whole(), name)) {
		disk := whole()
		put(t, disk, name, content(t, disk, name)[:size])
		want, names := corrupt.Err, "MANIFEST-"
		if size > 0 && size < 48 {
			names = ""
		}
		wantRefused(t, refused{disk, want, names})
	}
	disk := whole()
	ok(t, disk.Remove("db/"+name))
	wantRefused(t, refused{disk, corrupt.Err, "MANIFEST-"})
	disk = whole()
	table := named(t, disk, tableSuffix)[0]
	ok(t, disk.Remove("db/"+table))
	before := image(t, disk)
	if _, err := Open(disk, "db", calm()); !errors.Is(err, corrupt.Err) ||
		!strings.Contains(err.Error(), table) {
		t.Errorf("error %v, want corrupt.Err and %s", err, table)
	}
	wantImage(t, disk, before)
}

// removeCopies removes the copies of manifests, which reading would go by.
func removeCopies(t *testing.T, disk *memfs.FS) {
	t.Helper()
	for _, name := range named(t, disk, ".copy") {
		ok(t, disk.Remove("db/"+name))
	}
}

func TestOpen_refusesANewerFormat(t *testing.T) {
	for _, part := range []string{"MANIFEST-", ".log"} {
		disk := killed(t)
		removeCopies(t, disk)
		name := named(t, disk, part)[0]
		put(t, disk, name, newer(content(t, disk, name)))
		wantRefused(t, refused{disk, corrupt.ErrFormat, name})
	}
}

// The files that are created after it would get numbers that no name has.
func TestOpen_refusesAFileWithANumberThatLeavesNoRoom(t *testing.T) {
	for _, name := range []string{"9223372036854775807.table", "2305843009213693953.log",
		"MANIFEST-4611686018427387903", "9223372036854775806.values"} {
		disk := closed(t, "a")
		put(t, disk, name, []byte("hostile"))
		wantRefused(t, refused{disk, corrupt.Err, name})
	}
}

func TestOpen_refusesALockedFolder(t *testing.T) {
	disk := closed(t, "a")
	l, err := disk.Lock("db/" + folder.LockName)
	ok(t, err)
	before := image(t, disk)
	_, err = Open(disk, "db", calm())
	if !errors.Is(err, vfs.ErrLocked) || !strings.Contains(err.Error(), folder.LockName) {
		t.Errorf("error %v, want one that names %s and matches ErrLocked", err, folder.LockName)
	}
	wantImage(t, disk, before)
	ok(t, l.Close())
	wantWords(t, mustOpen(t, disk, calm()), "a")
}

func TestOpen_readOnlyOfNoFolderMakesNone(t *testing.T) {
	disk := memfs.New()
	if _, err := Open(disk, "db", Options{ReadOnly: true}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	if _, err := disk.List("db"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a folder now: %v", err)
	}
}

// flipped returns p with one bit changed.
func flipped(p []byte, at int) []byte {
	p[at] ^= 1
	return p
}

func TestOpen_refusesADamagedFolder(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, disk *memfs.FS) (names string){
		"a log in the middle is missing": func(t *testing.T, disk *memfs.FS) string {
			logs := named(t, disk, ".log")
			ok(t, disk.Remove("db/"+logs[0]))
			return logs[1]
		},
		"a log in the middle is cut off": func(t *testing.T, disk *memfs.FS) string {
			logs := named(t, disk, ".log")
			whole := trimmed(content(t, disk, logs[0]))
			put(t, disk, logs[0], whole[:len(whole)-1])
			return logs[1]
		},
		"a durable commit is damaged": func(t *testing.T, disk *memfs.FS) string {
			log := named(t, disk, ".log")[1]
			put(t, disk, log, flipped(content(t, disk, log), 48+32+2))
			return log
		},
		"an edit of the manifest is damaged": func(t *testing.T, disk *memfs.FS) string {
			manifest := named(t, disk, "MANIFEST-")[0]
			put(t, disk, manifest, flipped(content(t, disk, manifest), 48+12+1))
			return manifest
		},
		"the last edit of the manifest is cut off": func(t *testing.T, disk *memfs.FS) string {
			manifest := named(t, disk, "MANIFEST-")[0]
			whole := content(t, disk, manifest)
			put(t, disk, manifest, whole[:len(whole)-1])
			return named(t, disk, ".log")[0]
		},
		"the manifest is of another number": func(t *testing.T, disk *memfs.FS) string {
			old := named(t, disk, "MANIFEST-")[0]
			put(t, disk, "MANIFEST-000999", content(t, disk, old))
			return "MANIFEST-000999"
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := killed(t)
			removeCopies(t, disk)
			wantRefused(t, refused{disk, corrupt.Err, damage(t, disk)})
		})
	}
}
