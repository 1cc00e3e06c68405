package stoat_test

import (
	"testing"

	"github.com/stoatdb/stoat"
)

func TestPrefix_coversExactlyTheKeysThatBeginWithIt(t *testing.T) {
	keys := []string{"a", "a\xfe", "a\xff", "a\xff\x00", "a\xff\xff", "a\xff\xff\xff", "b", "b\x00",
		"\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff"}
	tests := map[string][]string{
		"":                 keys,
		"a":                keys[:6],
		"a\xff":            keys[2:6],
		"a\xff\xff":        keys[4:6],
		"b":                keys[6:8],
		"c":                nil,
		"\xff":             keys[8:],
		"\xff\xff":         keys[10:],
		"\xff\xff\xff":     keys[11:],
		"\xff\xff\xff\xff": nil,
	}
	db := memory(t)
	update(t, db, func(tx *stoat.Tx) {
		b := surround(t, tx, "b")
		for _, s := range []stoat.KeySpace{tx, b} {
			put(t, s, keys...)
			for prefix, want := range tests {
				equalKeys(t, keysOf(s.Keys(stoat.Prefix([]byte(prefix)))), want)
			}
		}
	})
}

func TestPrefix_doesNotKeepItsArgument(t *testing.T) {
	p := []byte("a")
	r := stoat.Prefix(p)
	p[0] = 'x'
	equal(t, string(r.Start), "a")
	equal(t, string(r.End), "b")
}
