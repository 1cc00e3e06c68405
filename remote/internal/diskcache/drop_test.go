package diskcache

import (
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestDrop_makesRoom fills a cache with objects, most of which nobody needs.
func TestDrop_makesRoom(t *testing.T) {
	files := memfs.New()
	c := open(t, files, 1<<20)
	id := func(number uint64) ID { return ID{Kind: folder.Table, Number: number} }
	for number := range uint64(4) {
		c.Put(id(number), truth(id(number), 0, objectBytes), 0)
	}
	before := c.Bytes()
	c.Drop(func(ID) bool { return true })
	if c.Bytes() != before {
		t.Error("what is needed is dropped")
	}
	c.Drop(func(other ID) bool { return other == id(2) })
	if after := c.Bytes(); after > before-2*objectBytes || after != bytesIn(t, files) {
		t.Errorf("of %d bytes, %d are left, and %d in the folder", before, after, bytesIn(t, files))
	}
	for number := range uint64(4) {
		if hit := wantRight(t, c, id(number), 0, objectBytes); hit != (number == 2) {
			t.Errorf("object %d is there: %t", number, hit)
		}
	}
	c.Put(id(5), truth(id(5), 0, 100), 0)
	if !wantRight(t, c, id(5), 0, 100) {
		t.Error("the cache takes nothing more")
	}
	c.Drop(func(ID) bool { return false })
	if c.Bytes() != 0 || bytesIn(t, files) != 0 {
		t.Errorf("%d bytes are left of nothing", c.Bytes())
	}
}
