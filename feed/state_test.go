package feed

import (
	"bytes"
	"testing"
)

func FuzzParseState(f *testing.F) {
	f.Add((&state{}).append(nil))
	sublogs := []sublogState{{"a", 7}, {"", 300}}
	f.Add((&state{1, 300, 1_700_000_000_000, 5, 6, sublogs, 1 << 60}).append(nil))
	f.Add([]byte{1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, p []byte) {
		var s, back state
		if s.parse(p) != nil {
			return
		}
		stored := s.append(nil)
		if err := back.parse(stored); err != nil || !bytes.Equal(back.append(nil), stored) {
			t.Errorf("%+v became %+v: %v", s, back, err)
		}
	})
}
