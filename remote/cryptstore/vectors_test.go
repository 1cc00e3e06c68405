package cryptstore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
	"github.com/stoatdb/stoat/remote/memstore"
)

// The bytes of objects do not change: stores have them.
func TestObject_hasTheBytesOfTheFormat(t *testing.T) {
	var secret cryptfs.Secret
	for i := range secret {
		secret[i] = byte(i)
	}
	below := memstore.New()
	s := &Store{layout{pageBytes}, below, secret}
	ok(t, s.Create(t.Context(), "log/0000000000000001", []byte("stoat")))
	got, err := below.Get(t.Context(), "log/0000000000000001", 0, -1)
	ok(t, err)
	want := "53544f4154454e4f01000000" + // the head, then the salt
		"48a6ee8ddbbf3dd7b2dfc6772292a2c3aa73a79cbd1383e05d61991747743327" +
		"7e7eb67274f0013177545016668d4f640d7c9459fe"
	if fmt.Sprintf("%x", got) != want {
		t.Errorf("the object is\n%x, want\n%s", got, want)
	}
	counted := make([]byte, 40_000)
	for i := range counted {
		counted[i] = byte(i)
	}
	ok(t, s.Put(t.Context(), "data/00/000001.table", bytes.NewReader(counted), 40_000))
	got, err = below.Get(t.Context(), "data/00/000001.table", 0, -1)
	ok(t, err)
	sum := sha256.Sum256(got)
	if len(got) != 40_180 || hex.EncodeToString(sum[:]) !=
		"8eb31aaba0dfbb26dcbb0e5f5da6f4cf732acb0dadd640d2462ca1d771c0ea3f" {
		t.Errorf("%d bytes with the SHA-256 %x", len(got), sum)
	}
}
