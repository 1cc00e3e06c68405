package studio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// hostile are keys and values as nobody should make them.
var hostile = []string{
	"\x00", "\x00\x01\x02", "\t\r\n", " ", "</script><script>alert(1)</script>",
	`"><img src=x onerror=x>`, "\u202egnp.exe", "\ufeff", "\xff", "\xff\xff\xff", "ok\xc3",
	"\xed\xa0\x80", "a.b", "..", "../../x", "%00%2e",
	"\u2028\u2029", "\x1b[31m", "\U0001f9a6", "'; DROP TABLE x", "event: end\ndata: x\n\n",
	strings.Repeat("k", 65_535),
}

// allKeys returns the keys of a bucket page by page.
func allKeys(b *browser, parameters ...string) (keys []string) {
	b.t.Helper()
	after := ""
	for {
		page := get[keysAnswer](b, "keys", append(slices.Clip(parameters), "after", after)...)
		for _, e := range page.Entries {
			keys = append(keys, string(e.Key.Base64))
		}
		if after = page.Next; after == "" {
			return keys
		}
	}
}

func TestKeys_listsARangeByPages(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		outer, err := tx.CreateBucket([]byte("outer"))
		ok(t, err)
		inner, err := outer.CreateBucket([]byte("in.ner"))
		ok(t, err)
		for i := range 25 {
			ok(t, inner.Put(fmt.Appendf(nil, "a%02d", i), nil))
			ok(t, inner.Put(fmt.Appendf(nil, "b%02d", i), nil))
		}
		return inner.Put([]byte("a\xff"), nil)
	})
	b := browse(t, New(db, nil))
	var as []string
	for i := range 25 {
		as = append(as, fmt.Sprintf("a%02d", i))
	}
	as = append(as, "a\xff")
	in := path("outer", "in.ner")
	for _, limit := range []string{"1", "7", "26", "500"} {
		for _, reverse := range []string{"", "true"} {
			got := allKeys(b, "path", in, "prefix", id("a"), "limit", limit, "reverse", reverse)
			want := slices.Clone(as)
			if reverse != "" {
				slices.Reverse(want)
			}
			if !slices.Equal(got, want) {
				t.Errorf("limit %s, reverse %q: %q", limit, reverse, got)
			}
		}
	}
	for _, c := range []struct{ after, reverse, first string }{ // whatever it is after
		{"a07x", "", "a08"}, {"A", "", "a00"}, {"b", "", ""},
		{"a07x", "true", "a07"}, {"b", "true", "a\xff"}, {"A", "true", ""},
	} {
		page := get[keysAnswer](b, "keys", "path", in, "prefix", id("a"), "after", id(c.after),
			"reverse", c.reverse).Entries
		first := ""
		if len(page) > 0 {
			first = string(page[0].Key.Base64)
		}
		equal(t, first, c.first)
	}
	equal(t, len(allKeys(b, "path", in)), 51)
	equal(t, len(allKeys(b)), 0)
}

func TestKeys_areShownWhateverTheyAre(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		for _, text := range hostile {
			b, err := tx.CreateBucket([]byte(text))
			ok(t, err)
			for _, key := range hostile {
				ok(t, b.Put([]byte(key), []byte(text)))
			}
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, text := range hostile {
		page := get[keysAnswer](b, "keys", "path", path(text))
		equal(t, len(page.Entries), len(hostile))
		for _, e := range page.Entries {
			key, err := base64Key(e.ID)
			ok(t, err)
			if !slices.Contains(hostile, key) || e.Key.Size != len(key) ||
				!strings.HasPrefix(key, string(e.Key.Base64)) || len(e.Key.Base64) > keyShown {
				t.Errorf("key %q: %.100v", key, e.Key)
			}
			if e.Value.Size != len(text) || !strings.HasPrefix(text, string(e.Value.Base64)) {
				t.Errorf("value %q: %v", text, e.Value)
			}
			v := get[valueAnswer](b, "value", "path", path(text), "key", e.ID)
			if string(v.Value.Base64) != text || string(v.Key.Base64) != key {
				t.Errorf("%q has value %q", key, v.Value.Base64)
			}
		}
	}
}

func TestKeys_andBucketsWithLongNamesMakeSmallPages(t *testing.T) {
	const n = 100
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		for i := range n {
			name := fmt.Appendf(nil, "%065535d", i)
			ok(t, tx.Put(name, nil))
			_, err := tx.CreateBucket(name)
			ok(t, err)
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, endpoint := range []string{"keys", "buckets"} {
		rows := 0
		for after, pages := "", 0; after != "" || pages == 0; pages++ {
			status, text := b.ask(endpoint, "limit", "500", "after", after)
			if equal(t, status, http.StatusOK); len(text) > pageBytes+2*(65_535+keyShown)+n*4*keyShown {
				t.Errorf("a page of %s has %d bytes", endpoint, len(text))
			}
			var page struct {
				Entries, Buckets []struct{}
				Next             string
			}
			ok(t, json.Unmarshal([]byte(text), &page))
			rows += len(page.Entries) + len(page.Buckets)
			after = page.Next
		}
		equal(t, rows, n)
	}
}

// expiring is a bucket in which a key expires between two reads.
type expiring struct {
	stoat.KeySpace
	last string // the read that does not find it any more
}

func (e expiring) gone(read string, key []byte) bool {
	return read == e.last && string(key) == "expires"
}

func (e expiring) Size(key []byte) (int, error) {
	if e.gone("Size", key) {
		return 0, stoat.ErrNotFound
	}
	return e.KeySpace.Size(key)
}

func (e expiring) Get(key []byte) ([]byte, error) {
	if e.gone("Get", key) {
		return nil, stoat.ErrNotFound
	}
	return e.KeySpace.Get(key)
}

func (e expiring) TTL(key []byte) (time.Duration, bool, error) {
	if e.gone("TTL", key) {
		return 0, false, stoat.ErrNotFound
	}
	return e.KeySpace.TTL(key)
}

func TestKeys_skipWhatExpiresMeanwhile(t *testing.T) {
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) error {
		return errors.Join(tx.Put([]byte("a"), nil), tx.PutTTL([]byte("expires"), nil, time.Hour),
			tx.Put([]byte("z"), nil))
	})
	ok(t, db.View(func(tx *stoat.Tx) error {
		for _, read := range []string{"Size", "Get", "TTL"} {
			var a keysAnswer
			ok(t, a.fill(t.Context(), expiring{tx, read}, stoat.Range{}, 2))
			if len(a.Entries) != 2 || *a.Entries[1].Key.Text != "z" || a.Next != "" {
				t.Errorf("%s: %+v", read, a)
			}
		}
		return nil
	}))
}

func TestKeys_areListedThoughAValueIsDamaged(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	value := make([]byte, 100_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(value)
	db, err := stoat.Open(dir, nil)
	ok(t, err)
	ok(t, errors.Join(db.Put([]byte("a"), value), db.Put([]byte("b"), []byte("fine"))))
	ok(t, errors.Join(db.Compact(context.Background()), db.Close()))
	entries, err := os.ReadDir(dir)
	ok(t, err)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		content, err := os.ReadFile(name)
		ok(t, err)
		if at := bytes.Index(content, value[:100]); at >= 0 {
			content[at] ^= 1
			ok(t, os.WriteFile(name, content, 0o600))
		}
	}
	h, err := Follow(dir, nil, nil)
	ok(t, err)
	defer func() { ok(t, h.Close()) }()
	rows := get[keysAnswer](browse(t, h), "keys").Entries
	if len(rows) != 2 || rows[0].Error == "" || *rows[1].Value.Text != "fine" || rows[1].Error != "" {
		t.Errorf("%+v", rows)
	}
}

func base64Key(id string) (string, error) {
	names, good := parsePath(id)
	if !good || len(names) != 1 {
		return "", fmt.Errorf("%q is not a key", id)
	}
	return string(names[0]), nil
}

func TestKeys_tellTheExpiry(t *testing.T) {
	db := memory(t)
	at := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, tx.Put([]byte("forever"), nil))
		return tx.PutUntil([]byte("hour"), nil, at)
	})
	b := browse(t, New(db, nil))
	page := get[keysAnswer](b, "keys")
	if e := page.Entries; e[0].Expires != nil || e[1].Expires == nil ||
		e[1].Expires.Sub(at).Abs() > 2*time.Millisecond {
		t.Errorf("%v and %v, want %v", e[0].Expires, e[1].Expires, at)
	}
	v := get[valueAnswer](b, "value", "key", id("hour"))
	if v.Expires == nil || v.Expires.Sub(at).Abs() > 2*time.Millisecond {
		t.Errorf("%v, want %v", v.Expires, at)
	}
}

func TestKeys_refuseWhatMeansNothing(t *testing.T) {
	b := browse(t, New(memory(t), nil))
	for _, c := range [][]string{
		{"limit", "0"}, {"limit", "501"}, {"limit", "x"}, {"prefix", "="}, {"after", "%"},
		{"path", "."}, {"path", "YQ."}, {"path", strings.Repeat("YQ.", 64) + "YQ"}, {"path", "/"},
		{"reverse", "maybe"},
	} {
		status, text := b.ask("keys", c...)
		refused(t, status, text, http.StatusBadRequest, c[0])
	}
	for _, endpoint := range []string{"keys", "bucket", "buckets", "changes", "value", "download"} {
		status, text := b.ask(endpoint, "path", path("missing"), "key", id("x"))
		refused(t, status, text, http.StatusNotFound, "bucket")
	}
	for _, endpoint := range []string{"value", "download"} {
		status, text := b.ask(endpoint, "key", id("missing"))
		refused(t, status, text, http.StatusNotFound, "key")
		status, text = b.ask(endpoint)
		refused(t, status, text, http.StatusBadRequest, "key")
	}
}

func TestBlob_cutsNoCharacter(t *testing.T) {
	text := []byte("ö€🦦 ")
	for most := 1; most <= len(text); most++ {
		b := head(text, len(text), most)
		if most > 4 && b.Text == nil || !bytes.HasPrefix(text, b.Base64) || len(b.Base64) > most ||
			len(b.Base64) < most-3 || len(b.Base64) == 0 || b.Cut != (len(b.Base64) < len(text)) {
			t.Errorf("%d: %+v", most, b)
		}
	}
	if b := head([]byte("\xff\xff\xff\xff\xff"), 5, 4); len(b.Base64) != 4 || b.Text != nil {
		t.Errorf("%+v", b)
	}
}
