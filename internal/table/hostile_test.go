package table

import (
	"encoding/binary"
	"math"
	"math/rand"
	"runtime"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
)

// Numbers that lie, under right checksums, are found out before memory is taken by them.
func TestTable_allocatesByNoNumberBeyondItsFile(t *testing.T) {
	_, image := smallTable(t)
	footer := image[len(image)-FooterSize:]
	index := image[binary.LittleEndian.Uint64(footer[56:]) : len(image)-FooterSize]
	blocks := int(binary.LittleEndian.Uint32(footer[64:]))
	place, span := blocks*fenceBytes, blocks*(fenceBytes+placeBytes)
	for _, c := range []struct {
		name string
		p    []byte
		at   int
	}{
		{"blocks", footer, 64}, {"spans", footer, 68}, {"the key section", footer, 40},
		{"the filter", footer, 48}, {"the index", footer, 56}, {"values of a block", index, place},
		{"keys of a block", index, place + 4}, {"the first block of a span", index, span},
		{"prefix of a span", index, span + 4}, {"key of a span", index, span + 8},
	} {
		for _, lie := range []uint32{math.MaxUint32, math.MaxInt32, 1 << 30} {
			before := binary.LittleEndian.Uint32(c.p[c.at:])
			binary.LittleEndian.PutUint32(c.p[c.at:], lie)
			binary.LittleEndian.PutUint32(footer[76:], checksum.Of(index))
			binary.LittleEndian.PutUint32(footer[84:], checksum.Of(footer[:84]))
			table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			err := table.Open()
			runtime.ReadMemStats(&end)
			if n := end.TotalAlloc - start.TotalAlloc; err == nil || !damaged(err) || n > 1<<20 {
				t.Errorf("%d for %s: %d bytes allocated, error %v", lie, c.name, n, err)
			}
			if l, damage := layoutOf(t, image); len(damage) == 0 || len(l.Blocks) > 0 {
				t.Errorf("%d for %s: the layout has %d blocks", lie, c.name, len(l.Blocks))
			}
			binary.LittleEndian.PutUint32(c.p[c.at:], before)
		}
	}
}

// Any bytes may be changed to any others, under right checksums of all sections.
func TestTable_survivesAnyIndex(t *testing.T) {
	seed := rand.Int63()
	rng := rand.New(rand.NewSource(seed))
	_, image := smallTable(t)
	footer := image[len(image)-FooterSize:]
	index := image[binary.LittleEndian.Uint64(footer[56:]) : len(image)-FooterSize]
	for range 2000 {
		at := rng.Intn(len(index))
		before := index[at]
		index[at] = byte(rng.Int())
		binary.LittleEndian.PutUint32(footer[76:], checksum.Of(index))
		binary.LittleEndian.PutUint32(footer[84:], checksum.Of(footer[:84]))
		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		var c Cursor
		c.Init(table, &Scope{Read: ReadValues})
		for ok := c.First(); ok; ok = c.Next() {
			c.Value()
		}
		if err := c.Err(); err != nil && !damaged(err) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		index[at] = before
	}
}
