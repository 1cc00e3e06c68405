package studio

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// event is the entry of the feeds of tests.
type event struct {
	Kind string
	Big  uint64
	Tags []string
}

// events returns a database with the feed "events" of n entries, and the feed.
func events(t testing.TB, n int) (*stoat.DB, *feed.Feed[event]) {
	t.Helper()
	db := memory(t)
	f, err := feed.Open(db, "events", &feed.Options[event]{
		Sublogs: map[string]func(*event) []string{
			"kind": func(e *event) []string { return []string{e.Kind} },
		},
	})
	ok(t, err)
	update(t, db, func(tx *stoat.Tx) error {
		for i := range n {
			e := event{[]string{"a", "<b>"}[i%2], math.MaxUint64, []string{fmt.Sprint(i)}}
			if _, err := f.Append(tx, &e); err != nil {
				return err
			}
		}
		return nil
	})
	return db, f
}

func TestFeed_showsConsumersAndSublogs(t *testing.T) {
	db, f := events(t, 100)
	update(t, db, func(tx *stoat.Tx) error {
		ok(t, f.Retain(tx, feed.Retention{Count: 90}))
		ok(t, f.SetCursor(tx, "late", 3))
		return f.SetCursor(tx, "at the end", 100)
	})
	b := browse(t, New(db, nil))
	a := get[feedAnswer](b, "feed", "name", "events")
	equal(t, a.First, 10)
	equal(t, a.Next, 100)
	equal(t, a.Encoding, "struct")
	equal(t, a.Bytes > 0, true)
	equal(t, fmt.Sprint(a.Consumers), "[{late 3 97 7} {at the end 100 0 0}]")
	equal(t, len(a.Sublogs), 1)
	equal(t, *a.Sublogs[0].Addresses, 2)
	kind := get[bucketsAnswer](b, "buckets").Buckets[0].Kind
	equal(t, kind, feedBucket)

	update(t, db, func(tx *stoat.Tx) error {
		for i := range consumersShown + 1 {
			ok(t, f.SetCursor(tx, fmt.Sprint("consumer ", i), 50))
		}
		return nil
	})
	a = get[feedAnswer](b, "feed", "name", "events")
	equal(t, len(a.Consumers), consumersShown)
	equal(t, a.More, true)
}

func TestFeed_refusesWhatIsNone(t *testing.T) {
	db, _ := events(t, 1)
	update(t, db, func(tx *stoat.Tx) error {
		_, err := tx.CreateBucket([]byte("other"))
		return err
	})
	b := browse(t, New(db, nil))
	for _, endpoint := range []string{"feed", "entries"} {
		status, text := b.ask(endpoint, "name", "none")
		refused(t, status, text, http.StatusNotFound)
		status, text = b.ask(endpoint, "name", "other")
		refused(t, status, text, http.StatusBadRequest, "not a feed")
	}
	status, text := b.ask("entries", "name", "events", "after", "x")
	refused(t, status, text, http.StatusBadRequest, "after")
}

func TestEntries_comeInPages(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	db, f := events(t, 200)
	redacted := map[uint64]bool{}
	update(t, db, func(tx *stoat.Tx) error {
		for range 20 {
			seq := rng.Uint64N(200)
			redacted[seq] = true
			ok(t, f.Redact(tx, seq))
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, reverse := range []string{"", "1"} {
		var seqs []uint64
		for after := ""; ; {
			limit := fmt.Sprint(1 + rng.IntN(80))
			a := get[entriesAnswer](b, "entries", "name", "events", "reverse", reverse,
				"after", after, "limit", limit)
			for _, e := range a.Entries {
				seqs = append(seqs, e.Seq)
				want := fmt.Sprintf(`{"Kind":%q,"Big":"18446744073709551615","Tags":["%d"]}`,
					[]string{"a", `\u003cb\u003e`}[e.Seq%2], e.Seq)
				want = strings.ReplaceAll(want, `\\`, `\`)
				if redacted[e.Seq] {
					want = "null"
				}
				if got := string(e.Value); got != want || e.Redacted != redacted[e.Seq] {
					t.Errorf("entry %d is %s, want %s", e.Seq, got, want)
				}
			}
			if after = a.Next; after == "" {
				break
			}
		}
		equal(t, len(seqs), 200)
		for i, seq := range seqs {
			want := i
			if reverse != "" {
				want = 199 - i
			}
			equal(t, int(seq), want)
		}
	}
}

func TestEntries_areShownSafely(t *testing.T) {
	db := memory(t)
	raw, err := feed.Open[[]byte](db, "raw", nil)
	ok(t, err)
	texts, err := feed.Open(db, "json", &feed.Options[string]{Encoding: feed.EncodingJSON})
	ok(t, err)
	structs, err := feed.Open[event](db, "structs", nil)
	ok(t, err)
	large := strings.Repeat("large ", 3<<19)
	update(t, db, func(tx *stoat.Tx) error {
		for _, text := range []string{"", "<script>\x00\u202e", large, large} {
			p := []byte(text)
			_, err := raw.Append(tx, &p)
			ok(t, err)
			_, err = texts.Append(tx, &text)
			ok(t, err)
			_, err = structs.Append(tx, &event{Kind: text})
			ok(t, err)
		}
		return nil
	})
	b := browse(t, New(db, nil))
	for _, name := range []string{"raw", "json", "structs"} {
		a := get[entriesAnswer](b, "entries", "name", name)
		equal(t, len(a.Entries), 3) // a page reads one large value
		equal(t, a.Next, "2")
		var last blob
		ok(t, json.Unmarshal(a.Entries[2].Value, &last))
		if !last.Cut || last.Size < len(large) || len(last.Base64) > cellShown {
			t.Errorf("%s: %d of %d bytes", name, len(last.Base64), last.Size)
		}
		a = get[entriesAnswer](b, "entries", "name", name, "after", a.Next)
		equal(t, len(a.Entries), 1)
	}
}
