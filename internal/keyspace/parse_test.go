package keyspace

import (
	"bytes"
	"testing"
)

func TestParse_takesApartWhatTheOthersMake(t *testing.T) {
	for _, id := range ids {
		for _, c := range []struct {
			key  []byte
			want Parts
		}{
			{append(AppendPrefix(nil, id), "key"...), Parts{SpaceData, id, []byte("key")}},
			{AppendPrefix(nil, id), Parts{SpaceData, id, nil}},
			{append(AppendCatalog(nil, id), "name"...), Parts{SpaceCatalog, id, []byte("name")}},
			{AppendSequence(nil, id), Parts{SpaceSequence, id, nil}},
			{AppendDropped(nil, id), Parts{SpaceDropped, id, nil}},
			{AppendNextID(nil), Parts{Space: SpaceNextID}},
			{AppendSalvage(nil), Parts{Space: SpaceSalvage}},
		} {
			got, ok := Parse(c.key)
			if !ok || got.Space != c.want.Space || got.Bucket != c.want.Bucket ||
				!bytes.Equal(got.Name, c.want.Name) {
				t.Errorf("Parse(%x) = %v, %v, want %v", c.key, got, ok, c.want)
			}
		}
	}
}

func TestParse_refusesWhatNoKeyIs(t *testing.T) {
	for _, key := range []string{"", "\x00", "\x06", "\x0f", "\x19", "\xff", "\x11", "\x12\x01",
		"\x01", "\x01\x09", "\x02\x01", "\x02\x00x", "\x03\x01\x07x", "\x04x", "\x05x", "\x11\x00",
		"\x12\x00\x01", "\x01\x01\x00x"} {
		if p, ok := Parse([]byte(key)); ok {
			t.Errorf("Parse(%x) = %v, want none", key, p)
		}
	}
}

// FuzzParse parses any key. What is parsed must be made again.
func FuzzParse(f *testing.F) {
	f.Add(append(AppendPrefix(nil, 7), "key"...))
	f.Add(append(AppendCatalog(nil, 300), "name"...))
	f.Add(AppendSequence(nil, 1<<40))
	f.Add(AppendDropped(nil, 0))
	f.Add(AppendNextID(nil))
	f.Add(AppendSalvage(nil))
	f.Fuzz(func(t *testing.T, key []byte) {
		p, ok := Parse(key)
		if !ok {
			return
		}
		made := map[Space]func([]byte, uint64) []byte{
			SpaceData: AppendPrefix, SpaceCatalog: AppendCatalog,
			SpaceSequence: AppendSequence, SpaceDropped: AppendDropped,
			SpaceNextID:  func(dst []byte, _ uint64) []byte { return AppendNextID(dst) },
			SpaceSalvage: func(dst []byte, _ uint64) []byte { return AppendSalvage(dst) },
		}[p.Space](nil, p.Bucket)
		if made = append(made, p.Name...); !bytes.Equal(made, key) {
			t.Errorf("Parse(%x) = %v, which makes %x", key, p, made)
		}
	})
}
