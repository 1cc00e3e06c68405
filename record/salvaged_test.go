package record_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

// The types of a collection that loses something.
type (
	member1 struct {
		ID    int32    `stoat:"id,key,auto"`
		Name  string   `stoat:"name,unique"`
		Tags  []string `stoat:"tags,index"`
		Level *int16   `stoat:"level,index"`
	}
	member struct {
		ID    int64    `stoat:"id,key,auto"`
		Title string   `stoat:"title,unique,was=name"`
		Tags  []string `stoat:"tags,index"`
		Level *int16   `stoat:"level,index"`
		Home  home     `stoat:"home"`
	}
)

// members is how many records the collection has.
const members = 40

// salvagedMembers makes a collection, has fn take something away from its bucket behind its back,
// and salvages the database after a loss elsewhere.
func salvagedMembers(
	t *testing.T, codec record.Codec, lose func(b *stoat.Bucket) error,
) (dir string) {
	t.Helper()
	damaged := filepath.Join(t.TempDir(), "damaged")
	db := openIn(t, damaged)
	if codec == record.CodecBinary {
		old := mustOpen[member1](t, db, "members", nil)
		for i := range members / 2 {
			level := int16(i % 4)
			put(t, db, old, &member1{Name: fmt.Sprint("m", i), Tags: []string{"a"}, Level: &level})
		}
	}
	c := mustOpen(t, db, "members", &record.Options[member]{Codec: codec})
	update(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		for i := int(n); i < members && err == nil; i++ {
			err = c.Insert(tx, &member{Title: fmt.Sprint("m", i), Tags: []string{"a", "b"},
				Home: home{City: fmt.Sprint("c", i%3)}})
		}
		return err
	})
	update(t, db, func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("members"))
		ok(t, err)
		return lose(b)
	})
	ok(t, db.Compact(context.Background()))
	ok(t, db.Put([]byte("elsewhere"), nil))
	ok(t, db.Flush())
	ok(t, db.Close())
	tables, err := filepath.Glob(filepath.Join(damaged, "*.table"))
	ok(t, err)
	ok(t, os.Remove(slices.Max(tables)))
	dir = filepath.Join(t.TempDir(), "salvaged")
	report, err := stoat.Salvage(context.Background(), damaged, dir)
	ok(t, err)
	if !report.Lost() {
		t.Fatalf("nothing is lost: %s", report)
	}
	return dir
}

// rawKey returns the encoded key of a member.
func rawKey(t *testing.T, id int64) []byte {
	t.Helper()
	key, err := tuple.Encode(id)
	ok(t, err)
	return key
}

// losses are what a salvage may lose of a collection, so that it does not agree with itself.
func losses(t *testing.T) map[string]func(b *stoat.Bucket) error {
	t.Helper()
	meta := func(fn func(meta *stoat.Bucket) error) func(b *stoat.Bucket) error {
		return func(b *stoat.Bucket) error {
			m, err := b.Bucket([]byte("meta"))
			ok(t, err)
			return fn(m)
		}
	}
	return map[string]func(b *stoat.Bucket) error{
		"record": func(b *stoat.Bucket) error { return b.Delete(rawKey(t, 7)) },
		"entry": func(b *stoat.Bucket) error {
			x, err := b.Bucket([]byte("index tags"))
			ok(t, err)
			for key := range x.Keys(stoat.Range{Limit: 1}) {
				return x.Delete(key)
			}
			return nil
		},
		"old record": func(b *stoat.Bucket) error { // is back
			value, err := b.Get(rawKey(t, 7))
			ok(t, err)
			value = append([]byte(nil), value...)
			value[len(value)-1]++
			return b.Put(rawKey(t, 7), value)
		},
		"index":      func(b *stoat.Bucket) error { return b.DeleteBucket([]byte("index level")) },
		"count":      meta(func(m *stoat.Bucket) error { return m.Delete([]byte("count")) }),
		"definition": meta(func(m *stoat.Bucket) error { return m.Delete([]byte("definition")) }),
		"meta":       func(b *stoat.Bucket) error { return b.DeleteBucket([]byte("meta")) },
	}
}

func TestOpen_noticesWhatASalvageHasLost(t *testing.T) {
	for what, lose := range losses(t) {
		for _, codec := range []record.Codec{record.CodecBinary, record.CodecJSON} {
			if codec != record.CodecBinary && what == "old record" ||
				codec == record.CodecBinary && what == "meta" {
				continue // which decodes to nothing; with two schemas nothing says what the old one was
			}
			t.Run(what+" "+codec.String(), func(t *testing.T) {
				db := openIn(t, salvagedMembers(t, codec, lose))
				defer db.Close()
				opts := &record.Options[member]{Codec: codec}
				_, err := record.Open(db, "members", opts)
				if !errors.Is(err, record.ErrInconsistent) {
					t.Fatalf("open: %v", err)
				}
				wantError(t, err, `"members"`, "record.Reindex", "stoat record reindex")
				c, err := record.Reindex(db, "members", opts)
				ok(t, err)
				checkMembers(t, db, c, what)
				checkMembers(t, db, mustOpen(t, db, "members", opts), what)
			})
		}
	}
}

// checkMembers checks a collection that was made to agree with itself.
func checkMembers(t *testing.T, db *stoat.DB, c *record.Collection[member], what string) {
	t.Helper()
	view(t, db, func(tx *stoat.Tx) error {
		ok(t, c.Verify(tx))
		want := uint64(members)
		if what == "record" {
			want--
		}
		n, err := c.Query().Where(record.Has("tags", "a")).Count(tx)
		if n != want || err != nil {
			t.Errorf("%d records with a tag, want %d: %v", n, want, err)
		}
		return err
	})
	if what != "record" {
		return
	}
	err := db.Update(func(tx *stoat.Tx) error {
		if err := c.Insert(tx, &member{Title: "m6"}); err != nil { // which record 7 has had
			t.Errorf("the value of a lost record: %v", err)
		}
		return errors.New("roll back")
	})
	wantError(t, err, "roll back")
}

// memberOf is a member whose records look like those of member, with another field in the end.
type memberOf struct {
	ID    int64    `stoat:"id,key,auto"`
	Title string   `stoat:"title,unique,was=name"`
	Tags  []string `stoat:"tags,index"`
	Level *int16   `stoat:"level,index"`
	Birth home     `stoat:"birth"`
}

// withoutSchema returns a salvaged database whose members have lost a schema.
func withoutSchema(t *testing.T, number string) *stoat.DB {
	t.Helper()
	db := openIn(t, salvagedMembers(t, record.CodecBinary, func(b *stoat.Bucket) error {
		meta, err := b.Bucket([]byte("meta"))
		ok(t, err)
		return meta.Delete([]byte("schema " + number))
	}))
	t.Cleanup(func() { ok(t, db.Close()) })
	return db
}

func TestReindex_restoresNoSchemaOfAnotherType(t *testing.T) {
	db := withoutSchema(t, "2")
	_, err := record.Open[memberOf](db, "members", nil)
	if !errors.Is(err, record.ErrInconsistent) {
		t.Errorf("open: %v", err)
	}
	_, err = record.Reindex[memberOf](db, "members", nil)
	wantError(t, err, `"members"`, "key 21", "schema 2", "record_test.memberOf is not the type")
	c, err := record.Reindex[member](db, "members", nil)
	ok(t, err)
	checkMembers(t, db, c, "")
}

func TestReindex_believesTheTypeIfNothingProvesIt(t *testing.T) {
	db := withoutSchema(t, "2")
	update(t, db, func(tx *stoat.Tx) error {
		meta := metaOf(t, tx, "members")
		p, err := meta.Get([]byte("definition"))
		ok(t, err)
		before, _, found := strings.Cut(string(p), `,"digests":`) // as older versions store it
		if !found {
			t.Fatalf("the definition is %s", p)
		}
		return meta.Put([]byte("definition"), []byte(before+"}"))
	})
	c, err := record.Reindex[member](db, "members", nil)
	ok(t, err)
	checkMembers(t, db, c, "")
}

func TestReindex_restoresNoOldSchemaByANewType(t *testing.T) {
	db := withoutSchema(t, "1")
	_, err := record.Reindex[member](db, "members", nil)
	wantError(t, err, `"members"`, "key 1:", "schema 1", "record_test.member is not the type")
	update(t, db, func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("members"))
		ok(t, err)
		return b.DeleteRange(stoat.Range{End: rawKey(t, members/2+1)})
	})
	c, err := record.Reindex[member](db, "members", nil)
	ok(t, err)
	view(t, db, func(tx *stoat.Tx) error {
		n, err := c.Count(tx)
		if n != members/2 || err != nil {
			t.Errorf("%d records, %v", n, err)
		}
		return c.Verify(tx)
	})
}

func TestOpen_countsALostSchemaOfNoSalvageAsDamage(t *testing.T) {
	db := openMemory(t)
	put(t, db, mustOpen[member](t, db, "members", nil), &member{Title: "m"})
	update(t, db, func(tx *stoat.Tx) error {
		return metaOf(t, tx, "members").Delete([]byte("schema 1"))
	})
	_, err := record.Open[memberOf](db, "members", nil)
	if !errors.Is(err, stoat.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
}

func TestReindexStored_needsNoType(t *testing.T) {
	for what, lose := range losses(t) {
		if what == "definition" || what == "meta" {
			continue
		}
		t.Run(what, func(t *testing.T) {
			db := openIn(t, salvagedMembers(t, record.CodecBinary, lose))
			defer db.Close()
			ok(t, record.ReindexStored(db, "members"))
			checkMembers(t, db, mustOpen[member](t, db, "members", nil), what)
		})
	}
	db := openMemory(t)
	mustOpen(t, db, "json", &record.Options[member]{Codec: record.CodecJSON})
	wantError(t, record.ReindexStored(db, "json"), `"json"`, "record.Reindex")
	if err := record.ReindexStored(db, "none"); !errors.Is(err, stoat.ErrBucketNotFound) {
		t.Errorf("no collection: %v", err)
	}
}

func TestReindex_saysWhatIsThereTwice(t *testing.T) {
	db := openIn(t, salvagedMembers(t, record.CodecBinary, func(b *stoat.Bucket) error {
		value, err := b.Get(rawKey(t, 30))
		ok(t, err)
		value = append([]byte(nil), value...)
		other, err := b.Get(rawKey(t, 31))
		ok(t, err)
		copy(value[1:9], other[1:9]) // the key is in the record, too
		return b.Put(rawKey(t, 31), value)
	}))
	defer db.Close()
	_, err := record.Reindex[member](db, "members", nil)
	if !errors.Is(err, record.ErrDuplicate) {
		t.Fatalf("reindex: %v", err)
	}
	wantError(t, err, "key 31", "key 30", `"m29"`, "delete one of each")
	update(t, db, func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte("members"))
		ok(t, err)
		return b.Delete(rawKey(t, 31))
	})
	_, err = record.Reindex[member](db, "members", nil)
	ok(t, err)
}

func TestOpen_keepsThatItHasCheckedASalvage(t *testing.T) {
	dir := salvagedMembers(t, record.CodecBinary, func(*stoat.Bucket) error { return nil })
	db, err := stoat.Open(dir, &stoat.Options{ReadOnly: true})
	ok(t, err)
	mustOpen[member](t, db, "members", nil)
	ok(t, db.Close())
	db = openIn(t, dir)
	defer db.Close()
	mustOpen[member](t, db, "members", nil)
	view(t, db, func(tx *stoat.Tx) error {
		p, err := metaOf(t, tx, "members").Get([]byte("salvage"))
		if len(p) == 0 || err != nil {
			t.Errorf("kept is %x, %v", p, err)
		}
		return nil
	})
	mustOpen[member1](t, db, "new", nil)
	view(t, db, func(tx *stoat.Tx) error {
		_, err := metaOf(t, tx, "new").Get([]byte("salvage"))
		ok(t, err)
		return nil
	})
}

func TestOpen_doesNotMakeWhatMayHaveLostItsName(t *testing.T) {
	dir := salvagedMembers(t, record.CodecBinary, func(*stoat.Bucket) error { return nil })
	db := openIn(t, dir)
	defer db.Close()
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("lost-7"))
		return err
	})
	_, err := record.Open[member](db, "new", nil)
	wantError(t, err, `"new"`, `"lost-7"`)
	mustOpen[member](t, db, "members", nil)
}

func TestReindex_atAnyTime(t *testing.T) {
	for _, codec := range []record.Codec{record.CodecBinary, record.CodecGob} {
		db := openMemory(t)
		c := mustOpen(t, db, "people", personOptions(codec))
		r := newRand(t)
		update(t, db, func(tx *stoat.Tx) error {
			for i := range 200 {
				ok(t, c.Put(tx, randomPerson(r, int64(i))))
			}
			ok(t, c.Reindex(tx))
			ok(t, c.Verify(tx))
			ok(t, c.Put(tx, randomPerson(r, 5000)))
			return c.Delete(tx, 7)
		})
		view(t, db, func(tx *stoat.Tx) error { return c.Verify(tx) })
	}
}
