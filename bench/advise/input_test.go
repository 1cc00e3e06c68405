package advise

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"
)

// texts returns the pairs of an input as texts.
func texts(t testing.TB, in input) (all []string) {
	t.Helper()
	ok(t, in.each(func(e entry) bool {
		all = append(all, fmt.Sprintf("%d.%d %s=%s", e.line, e.bucket, e.key, e.value))
		return true
	}))
	return all
}

// nestedBuckets fills a database with pairs in buckets of several depths, and an empty bucket.
func nestedBuckets(tx *bbolt.Tx) error {
	return errors.Join(
		put(tx, "empty"),
		put(tx, "users", "1", `{"a":1}`, "2", "text"),
		put(tx, "users/1a/deep", "1", "", "2", "{ \"a\" :\n 2 }"),
		put(tx, "zoo", "x", "{}"),
	)
}

func TestEach_hasTheLinesOfAFile(t *testing.T) {
	in := input{path: file(t, "\n {\"a\":1} \r\n\n\n{\"a\":2}")}
	want := []string{
		"2.0 \x00\x00\x00\x00\x00\x00\x00\x00={\"a\":1}",
		"5.0 \x00\x00\x00\x00\x00\x00\x00\x01={\"a\":2}",
	}
	if got := texts(t, in); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestEach_hasThePairsOfAllBuckets(t *testing.T) {
	in := input{path: boltFile(t, nestedBuckets), bolt: true}
	want := []string{
		`0.0 1={"a":1}`, "0.1 1=", "0.1 2={ \"a\" :\n 2 }", "0.0 2=text", "0.2 x={}",
	}
	if got := texts(t, in); !slices.Equal(got, want) {
		t.Errorf("%q\ninstead of %q", got, want)
	}
}

func TestCount_keepsToTheLimits(t *testing.T) {
	in := input{path: file(t, "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")}
	for _, c := range []struct {
		limits limits
		pairs  int
	}{
		{limits{pairs: 2}, 2}, {limits{pairs: 3}, 3}, {limits{pairs: 4}, 3},
		{limits{pairs: 4, bytes: 1}, 1}, {limits{pairs: 4, bytes: 30}, 2},
		{limits{pairs: 4, bytes: 45}, 3},
	} {
		x, err := in.count(c.limits)
		ok(t, err)
		if x.Pairs != c.pairs || x.More != (c.pairs < 3) || x.ValueBytes != int64(7*c.pairs) {
			t.Errorf("%+v: %+v", c.limits, x)
		}
	}
}

func TestPairs_tellBucketsApart(t *testing.T) {
	in := input{path: boltFile(t, nestedBuckets), bolt: true}
	pairs, x, err := in.pairs(5)
	ok(t, err)
	var got []string
	for _, p := range pairs {
		got = append(got, string(p.Key))
		if p.Value == nil {
			t.Errorf("the value of %q is nil, which would delete it", p.Key)
		}
	}
	want := []string{
		"\x00\x00\x00\x001", "\x00\x00\x00\x011", "\x00\x00\x00\x012", "\x00\x00\x00\x002",
		"\x00\x00\x00\x02x",
	}
	if !slices.Equal(got, want) || x.KeyBytes != 25 {
		t.Errorf("%q, %+v", got, x)
	}
	if pairs, _, err = in.pairs(1); err != nil || string(pairs[0].Key) != "1" {
		t.Errorf("the key of one bucket is %q, %v", pairs[0].Key, err)
	}
	if _, _, err = in.pairs(6); err == nil {
		t.Error("no error about a pair too few")
	}
}

func TestRecords_areTheObjectsOfADatabase(t *testing.T) {
	in := input{path: boltFile(t, nestedBuckets), bolt: true}
	x, err := in.count(limits{pairs: 10})
	ok(t, err)
	data, n, err := in.records(x)
	ok(t, err)
	if names, _, _ := data.Fields(); n != 2 || !slices.Equal(names, []string{"a"}) {
		t.Errorf("%d records of %q", n, names)
	}
}

func TestRecords_nameTheLineOfTheFile(t *testing.T) {
	in := input{path: file(t, "\n{\"a\":1}\n\n[2]\n{\"a\":3}\n")}
	_, _, err := in.records(extent{Pairs: 3})
	if err == nil || !strings.Contains(err.Error(), "line 4:") {
		t.Errorf("error %v", err)
	}
	if _, n, err := in.records(extent{Pairs: 1}); err != nil || n != 1 {
		t.Errorf("%d records before the line, %v", n, err)
	}
}

func TestEach_noticesDamage(t *testing.T) {
	path := boltFile(t, func(tx *bbolt.Tx) error {
		for i := range 2000 {
			if err := put(tx, "b", fmt.Sprint(i), strings.Repeat("x", 100)); err != nil {
				return err
			}
		}
		return nil
	})
	whole, err := os.ReadFile(path)
	ok(t, err)
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
	}{
		{"cut off", func(b []byte) []byte { return b[:3*os.Getpagesize()] }},
		{"overwritten", func(b []byte) []byte { clear(b[2*os.Getpagesize():]); return b }},
		{"text", func([]byte) []byte { return []byte("hello") }},
		{"long text", func([]byte) []byte { return []byte(strings.Repeat("hello", 10_000)) }},
	} {
		ok(t, os.WriteFile(path, c.damage(slices.Clone(whole)), 0o600))
		_, err := input{path: path, bolt: true}.count(limits{pairs: 5000})
		if err == nil || !strings.Contains(err.Error(), "bbolt database") ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
}

func TestIsObject_wantsFields(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, " ": false, "{": false, "{}": false, "{ }": false, "[{}]": false,
		`{"a":}`:  false,
		`{"a":1}`: true, " {\n\"a\": {}}\n": true, `{"a":1} x`: false, `"{}"`: false,
	} {
		if isObject([]byte(text)) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}
