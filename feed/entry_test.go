package feed

import (
	"bytes"
	"testing"
)

func FuzzParseEntry(f *testing.F) {
	f.Add((&stored{at: 1_700_000_000_000, before: 300, value: []byte("value")}).append(nil))
	f.Add((&stored{redacted: true}).append(nil))
	f.Add([]byte{1, 0x80})
	f.Fuzz(func(t *testing.T, p []byte) {
		e, err := parseEntry(7, p)
		if err != nil {
			return
		}
		back, err := parseEntry(7, e.append(nil))
		if err != nil || back.redacted != e.redacted || back.at != e.at ||
			back.before != e.before || !bytes.Equal(back.value, e.value) {
			t.Errorf("%+v became %+v: %v", e, back, err)
		}
	})
}
