package keyspace

import (
	"bytes"
	"encoding/binary"
	"testing"
)

var ids = []uint64{0, 1, 2, 0x7F, 0x80, 0xFF, 0x100, 0xFFFF, 0x10000, 1 << 32, 1<<64 - 1}

func TestAppendPrefix_ordersLikeTheIds(t *testing.T) {
	for i := 1; i < len(ids); i++ {
		low, high := AppendPrefix(nil, ids[i-1]), AppendPrefix(nil, ids[i])
		end := Successor(low)
		if bytes.Compare(low, high) >= 0 || bytes.Compare(end, high) > 0 {
			t.Errorf("keys of bucket %d (%x to %x) reach into those of %d (%x)",
				ids[i-1], low, end, ids[i], high)
		}
	}
}

func TestBucketOf_recognisesEveryKeyOfABucket(t *testing.T) {
	for _, id := range ids {
		keys := [][]byte{
			append(AppendPrefix(nil, id), "key"...),
			append(AppendCatalog(nil, id), "name"...),
			AppendSequence(nil, id),
		}
		for i, key := range keys {
			if got, ok := BucketOf(key); !ok || got != id {
				t.Errorf("BucketOf(%x) = %d, %v, want %d", key, got, ok, id)
			}
			r := Ranges(id, id)[[]int{0, 2, 1}[i]]
			if bytes.Compare(key, r[0]) < 0 || bytes.Compare(key, r[1]) >= 0 {
				t.Errorf("key %x of bucket %d is outside its range [%x, %x)", key, id, r[0], r[1])
			}
		}
	}
}

func TestBucketOf_refusesWhatIsNoKeyOfABucket(t *testing.T) {
	for _, key := range [][]byte{
		nil, {}, AppendNextID(nil), AppendDropped(nil, 7), {0x12, 1}, {0x19}, {1}, {1, 9},
	} {
		if id, ok := BucketOf(key); ok {
			t.Errorf("BucketOf(%x) = %d, want none", key, id)
		}
	}
}

func TestParseDropped_invertsAppendDropped(t *testing.T) {
	first, end := DroppedRange()
	for _, id := range ids {
		key := AppendDropped(nil, id)
		if got, ok := ParseDropped(key); !ok || got != id {
			t.Errorf("ParseDropped(%x) = %d, %v, want %d", key, got, ok, id)
		}
		if bytes.Compare(key, first) < 0 || bytes.Compare(key, end) >= 0 {
			t.Errorf("marker %x is outside [%x, %x)", key, first, end)
		}
	}
	if _, ok := ParseDropped(AppendPrefix(nil, 7)); ok {
		t.Error("a data key passes for a marker")
	}
}

func TestSuccessor_isTheSmallestKeyAfterAllWithThePrefix(t *testing.T) {
	for _, c := range []struct{ prefix, want []byte }{
		{nil, nil},
		{[]byte{1}, []byte{2}},
		{[]byte{1, 0xFF}, []byte{2}},
		{[]byte{0xFF, 0xFF}, nil},
		{[]byte{0xFF, 3, 0xFF, 0xFF}, []byte{0xFF, 4}},
	} {
		if got := Successor(c.prefix); !bytes.Equal(got, c.want) || (got == nil) != (c.want == nil) {
			t.Errorf("Successor(%x) = %x, want %x", c.prefix, got, c.want)
		}
		before := append(make([]byte, 0, 9), 7)
		if got := AppendSuccessor(before, c.prefix); !bytes.Equal(got, append([]byte{7}, c.want...)) {
			t.Errorf("AppendSuccessor(07, %x) = %x, want 07 and %x", c.prefix, got, c.want)
		}
	}
}

func FuzzBucketOf(f *testing.F) {
	f.Add([]byte{0x11, 7, 'k'})
	f.Fuzz(func(t *testing.T, key []byte) {
		id, ok := BucketOf(key)
		if !ok || len(key) == 0 || key[0] < byte(SpaceData) {
			return
		}
		// A length byte may announce more bytes than the id needs; such a key is never written.
		if n := int(key[0] - byte(SpaceData)); n > 0 && key[1] == 0 {
			return
		}
		if !bytes.HasPrefix(key, AppendPrefix(nil, id)) {
			t.Errorf("BucketOf(%x) = %d, whose prefix is %x", key, id, AppendPrefix(nil, id))
		}
	})
}

func TestAppendID_usesTheFewestBytes(t *testing.T) {
	for _, id := range ids {
		key := AppendPrefix(nil, id)
		if len(key) > MaxPrefixBytes {
			t.Errorf("prefix of %d has %d bytes, more than MaxPrefixBytes", id, len(key))
		}
		var be [8]byte
		binary.BigEndian.PutUint64(be[:], id)
		if want := len(bytes.TrimLeft(be[:], "\x00")) + 1; len(key) != want {
			t.Errorf("prefix of %d has %d bytes, want %d", id, len(key), want)
		}
	}
}
