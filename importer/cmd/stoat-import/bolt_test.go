package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"
)

// boltFile returns the path of a new database of bbolt that fill has filled.
func boltFile(t testing.TB, fill func(tx *bbolt.Tx) error) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "source.bolt")
	db, err := bbolt.Open(name, 0o600, nil)
	ok(t, err)
	ok(t, errors.Join(db.Update(fill), db.Close()))
	return name
}

// nested fills a database with buckets in buckets, keys before, between and after them.
func nested(tx *bbolt.Tx) error {
	a, err := tx.CreateBucket([]byte("a"))
	if err != nil {
		return err
	}
	ab, err := a.CreateBucket([]byte("b"))
	if err != nil {
		return err
	}
	deep, err := ab.CreateBucket([]byte("deep"))
	if err != nil {
		return err
	}
	_, noneA := a.CreateBucket([]byte("bb empty"))
	_, noneZ := tx.CreateBucket([]byte("z"))
	return errors.Join(noneA, noneZ, a.Put([]byte("a"), []byte("1")), a.Put([]byte("ba"), nil),
		a.Put([]byte("c"), []byte("3")), ab.Put([]byte("k"), []byte("v")),
		ab.Put([]byte("zz"), []byte("last")), deep.Put([]byte("x"), []byte("y")), a.SetSequence(7),
		deep.SetSequence(9))
}

const nestedDump = `a #7
a/a=1
a/ba=
a/c=3
a/b #0
a/b/k=v
a/b/zz=last
a/b/deep #9
a/b/deep/x=y
a/bb empty #0
z #0
`

func TestBolt_keepsBucketsAndSequences(t *testing.T) {
	file, db := boltFile(t, nested), filepath.Join(t.TempDir(), "db")
	r := imports(t, "-bolt", file, db)
	if r.Kind != "bolt" || r.Source != file || r.Entries != 6 || r.Bytes != 16 || r.Resumed {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, dump(t, db), nestedDump)
	imports(t, "-bolt", file, db, "-bucket", "to/x")
	within := ""
	for line := range strings.Lines(nestedDump) {
		within += "to/x/" + line
	}
	equal(t, dump(t, db), strings.Replace(nestedDump, "z #0\n", "to #0\nto/x #0\n"+within+"z #0\n", 1))
}

func TestBolt_goesOnAfterAnInterrupt(t *testing.T) {
	goesOn(t, "-bolt", boltFile(t, nested), "-bucket", "to")
}

func TestBolt_refusesAFileThatHasChanged(t *testing.T) {
	file, db := boltFile(t, nested), filepath.Join(t.TempDir(), "db")
	o, err := parse([]string{"-bolt", file, db})
	ok(t, err)
	if err := o.run(&countdown{t.Context(), 3}, nil, nil); !errors.Is(err, errInterrupted) {
		t.Fatal(err)
	}
	ok(t, os.Chtimes(file, time.Time{}, time.Now().Add(time.Hour)))
	fails(t, exitError, "-restart", "-bolt", file, db)
	if r := imports(t, "-bolt", file, "-restart", db); r.Entries != 6 || r.Resumed {
		t.Errorf("the summary says %+v", r)
	}
	equal(t, dump(t, db), nestedDump)
}

func TestBolt_leavesAFileInUseAlone(t *testing.T) {
	file := boltFile(t, nested)
	db, err := bbolt.Open(file, 0o600, nil)
	ok(t, err)
	fails(t, exitError, "open in another process", "-bolt", file, filepath.Join(t.TempDir(), "db"))
	ok(t, db.Close())
}

func TestBolt_reportsDamage(t *testing.T) {
	file := boltFile(t, func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucket([]byte("b"))
		for i := range 5000 {
			err = errors.Join(err, b.Put([]byte{byte(i >> 8), byte(i), 'x'}, make([]byte, 100)))
		}
		return err
	})
	text, err := os.ReadFile(file)
	ok(t, err)
	for page := 4; page < len(text)/4096; page++ {
		copy(text[page*4096:], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")
	}
	ok(t, os.WriteFile(file, text, 0o600))
	fails(t, exitError, "damaged", "-bolt", file, filepath.Join(t.TempDir(), "db"))
}
