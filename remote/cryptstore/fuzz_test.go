package cryptstore

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// What a store returns is the content that was stored, or an error.
func FuzzDecrypt(f *testing.F) {
	s := &Store{layout: layout{int64(extraBytes) + 7}, secret: cryptfs.Secret{1}}
	want := content(20)
	key, err := s.sealer("a", 20, bytes.NewReader(want))
	ok(f, err)
	whole := make([]byte, s.stored(20))
	_, err = newBody(key, bytes.NewReader(want), 20).ReadAt(whole, 0)
	ok(f, err)
	f.Add(whole, 0, true)
	f.Add(whole[s.page:], 1, true)
	f.Add(whole[:s.page], 0, false)
	f.Add([]byte(magic), 3, true)
	f.Fuzz(func(t *testing.T, stored []byte, first int, toEnd bool) {
		at := int64(first&3) * s.content()
		got, err := s.decrypt("a", bytes.Clone(stored), int64(first&3), toEnd)
		if err == nil && (at > 20 && len(got) > 0 || at <= 20 && !bytes.HasPrefix(want[at:], got)) {
			t.Errorf("got %x", got)
		}
		if err == nil && toEnd && at == 0 && !bytes.Equal(got, want) {
			t.Errorf("a part counts as the whole: %x", got)
		}
	})
}
