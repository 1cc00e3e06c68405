package studio

import (
	"encoding/json"
	"reflect"
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
	equal(t, len(a.Stats), reflect.TypeFor[stoat.Stats]().NumField())
	for name, want := range map[string]any{"commits": 1.0, "flushes": 1.0, "noSpace": 0.0} {
		if a.Stats[name] != want {
			t.Errorf("%s is %v", name, a.Stats[name])
		}
	}
	if _, err := json.Marshal(numbers(db.Stats())); err != nil {
		t.Error(err)
	}
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
	if !a.Write || a.Follows || len(a.Identity) != 32 || a.Position != uint64(db.Position()) {
		t.Errorf("%+v", a)
	}
	h, err := Follow(dir, nil, nil)
	ok(t, err)
	f := get[databaseAnswer](browse(t, h), "database")
	if f.Write || !f.Follows || f.Identity != a.Identity || f.Name != dir || f.Position != a.Position {
		t.Errorf("%+v", f)
	}
	ok(t, h.Close())
}
