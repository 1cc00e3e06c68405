package studio

import (
	"bytes"
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func TestPut_changesAKeyAndNothingElse(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("b"))
		return err
	})
	b := browse(t, New(db, &Options{Write: true}))
	for _, key := range hostile {
		status, text := b.post("put", editRequest{Path: path("b"), Key: []byte(key), Value: []byte(key)})
		if status != http.StatusOK {
			t.Fatalf("%q: %d %s", key, status, text)
		}
		v := get[valueAnswer](b, "value", "path", path("b"), "key", id(key))
		equal(t, string(v.Value.Base64), key)
	}
	equal(t, len(allKeys(b)), 0)
	soon := time.Now().Add(time.Hour)
	status, _ := b.post("put", editRequest{Key: []byte("root"), Expires: &soon})
	equal(t, status, http.StatusOK)
	if e := get[keysAnswer](b, "keys").Entries; len(e) != 1 || e[0].Expires == nil {
		t.Errorf("%+v", e)
	}

	status, _ = b.post("delete", editRequest{Path: path("b"), Key: []byte(hostile[0])})
	equal(t, status, http.StatusOK)
	equal(t, len(allKeys(b, "path", path("b"))), len(hostile)-1)
	status, text := b.post("delete", editRequest{Path: path("b"), Key: []byte(hostile[0])})
	refused(t, status, text, http.StatusNotFound)
}

func TestPut_refusesWhatCannotBe(t *testing.T) {
	b := browse(t, New(memory(t), &Options{Write: true}))
	for _, c := range []struct {
		request any
		want    int
	}{
		{editRequest{}, http.StatusBadRequest},
		{editRequest{Key: bytes.Repeat([]byte("k"), 65_536)}, http.StatusBadRequest},
		{editRequest{Path: path("missing"), Key: []byte("k")}, http.StatusNotFound},
		{editRequest{Path: "=", Key: []byte("k")}, http.StatusBadRequest},
		{map[string]string{"keys": "a2V5"}, http.StatusBadRequest},
		{map[string]string{"key": "k"}, http.StatusBadRequest},
		{[]string{}, http.StatusBadRequest},
	} {
		status, text := b.post("put", c.request)
		refused(t, status, text, c.want)
	}
	b.header.Set("Content-Type", "application/json")
	large := `{"key":"` + strings.Repeat("A", bodyMost) + `"}`
	status, text := b.read(b.send(http.MethodPost, "api/put", strings.NewReader(large)))
	refused(t, status, text, http.StatusBadRequest, "too large")
}

func TestPut_isRefusedWithoutWrite(t *testing.T) {
	db, dir := onDisk(t)
	ok(t, db.Put([]byte("key"), []byte("value")))
	follower, err := Follow(dir, nil, &Options{Write: true})
	ok(t, err)
	defer func() { ok(t, follower.Close()) }()
	for _, h := range []*Handler{New(db, nil), New(db, &Options{}), follower} {
		b := browse(t, h)
		for _, name := range []string{"put", "delete"} {
			status, text := b.post(name, editRequest{Key: []byte("key")})
			refused(t, status, text, http.StatusForbidden, "-write")
		}
		if d := get[databaseAnswer](b, "database"); d.Write {
			t.Errorf("%+v", d)
		}
	}
	value, err := db.Get([]byte("key"))
	ok(t, err)
	equal(t, string(value), "value")
}

func TestPut_ofAReadOnlyDatabaseIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, errors.Join(db.Put([]byte("key"), nil), db.Close()))
	db, err = stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	b := browse(t, New(db, &Options{Write: true}))
	status, text := b.post("put", editRequest{Key: []byte("key")})
	refused(t, status, text, http.StatusForbidden)
	b.server.Close()
	ok(t, db.Close())
}

// The records of a collection and its indexes would disagree.
func TestPut_leavesWhatOtherModulesKeepAlone(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		for _, name := range []string{"replica", "raftstore"} {
			b, err := tx.CreateBucket([]byte(name))
			ok(t, err)
			_, err = b.CreateBucket([]byte("states"))
			ok(t, err)
		}
		return nil
	})
	b := browse(t, New(db, &Options{Write: true}))
	for _, at := range []string{path("replica"), path("replica", "states"), path("raftstore")} {
		status, text := b.post("put", editRequest{Path: at, Key: []byte("k")})
		refused(t, status, text, http.StatusForbidden, "belong together")
	}
	for _, row := range get[bucketsAnswer](b, "buckets").Buckets {
		if row.Kind == plainBucket {
			t.Errorf("%+v", row)
		}
	}
}

func TestPut_leavesCollectionsAlone(t *testing.T) {
	db := memory(t)
	notes, err := record.Open[note](db, "notes", nil)
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) error { return notes.Put(tx, &note{Text: "x"}) })
	b := browse(t, New(db, &Options{Write: true}))
	key := get[keysAnswer](b, "keys", "path", path("notes")).Entries[0].Key.Base64
	for _, in := range []string{path("notes"), path("notes", "meta")} {
		for _, name := range []string{"put", "delete"} {
			status, text := b.post(name, editRequest{Path: in, Key: key})
			refused(t, status, text, http.StatusForbidden, "collection")
		}
	}
}
