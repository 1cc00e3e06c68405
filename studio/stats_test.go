package studio

import (
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

func TestStats_haveAllNumbers(t *testing.T) {
	db, _ := onDisk(t)
	ok(t, db.Put([]byte("key"), make([]byte, 1000)))
	ok(t, db.Flush())
	b := browse(t, New(db, nil))
	a := get[statsAnswer](b, "stats")
	if time.Since(a.Time) > time.Hour || a.Error != "" || a.WriteAmplification <= 0 {
		t.Errorf("%+v", a)
	}
	equal(t, a.Stats.Commits, 1)
	equal(t, a.Stats.Flushes, 1)
	equal(t, a.Stats.TableBytes, db.Stats().TableBytes)
}

func TestStats_tellWhatKeepsTheDatabaseFromItsWork(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	ok(t, db.Close())
	a := get[statsAnswer](browse(t, New(db, nil)), "stats")
	equal(t, a.Error, stoat.ErrClosed.Error())
}

func TestDatabase_saysWhatItIs(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), nil))
	a := get[databaseAnswer](browse(t, New(db, &Options{Write: true})), "database")
	if !a.Write || a.Follows || len(a.Identity) != 32 {
		t.Errorf("%+v", a)
	}
	h, err := Follow(dir, nil, nil)
	ok(t, err)
	f := get[databaseAnswer](browse(t, h), "database")
	if f.Write || !f.Follows || f.Identity != a.Identity || f.Name != dir {
		t.Errorf("%+v", f)
	}
	ok(t, h.Close())
}
