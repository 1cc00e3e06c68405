package table

import (
	"errors"
	"math/rand"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
)

// wholeOf returns a table that is read as a whole, with entries of which the values are large.
func wholeOf(t testing.TB, hook faultfs.Hook) (*Table, []entry) {
	t.Helper()
	entries := shapes(rand.New(rand.NewSource(1)))["large values"]
	table := openTable(t, WriterOptions{}, NewCache(1<<30), entries)
	table.config.Whole = true
	table.config.FS = faultfs.New(table.config.FS.(vfs.FS), hook)
	return table, entries
}

func TestTable_wholeIsReadOnce(t *testing.T) {
	var did []faultfs.Kind
	table, entries := wholeOf(t, func(op faultfs.Op) error {
		did = append(did, op.Kind)
		return nil
	})
	for _, e := range entries {
		checkEntry(t, table, e)
	}
	readAll(t, table, entries)
	want := []faultfs.Kind{faultfs.Open, faultfs.Size, faultfs.ReadAt, faultfs.Close}
	if !slices.Equal(did, want) {
		t.Errorf("the file system does %v, want %v", did, want)
	}
	if got := table.config.Cache.Bytes(); got > 10_000 {
		t.Errorf("raw values that are in memory count for %d bytes", got)
	}
}

func TestTable_wholeClosesWhatCannotBeRead(t *testing.T) {
	opened, failure := 0, errors.New("input/output error")
	table, entries := wholeOf(t, func(op faultfs.Op) error {
		switch op.Kind {
		case faultfs.Open:
			opened++
		case faultfs.Close:
			opened--
		case faultfs.ReadAt:
			return failure
		}
		return nil
	})
	if _, _, err := find(table, entries[0].key); !errors.Is(err, failure) || damaged(err) {
		t.Errorf("Find returns %v", err)
	}
	if opened != 0 {
		t.Errorf("%d files are open", opened)
	}
}

func TestTable_wholeNoticesFlippedBytes(t *testing.T) {
	entries, image := smallTable(t)
	for at := 0; at < len(image); at += 5 {
		image[at] ^= 0x10
		table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
		table.config.Whole = true
		if checkRightOrDamaged(t, table, entries, "flipped byte", at) {
			t.Errorf("flipping byte %d of %d goes unnoticed", at, len(image))
		}
		image[at] ^= 0x10
	}
}

// blankFS is a file system whose maps hold zeros.
type blankFS struct{ vfs.Files }

type blankFile struct{ vfs.File }

func (fs blankFS) Open(name string) (vfs.File, error) {
	f, err := fs.Files.Open(name)
	return blankFile{f}, err
}

func (blankFile) Map(size int64) ([]byte, func() error, error) {
	return make([]byte, size), func() error { return nil }, nil
}

func TestTable_readsItsIndexAndMapsTheRest(t *testing.T) {
	entries := messages(100, rand.New(rand.NewSource(1)))
	table := openTable(t, WriterOptions{}, NewCache(1<<20), entries)
	table.config.FS = blankFS{table.config.FS}
	if err := table.Open(); err != nil {
		t.Errorf("without a map, header, footer and index are there; Open returns %v", err)
	}
	if _, _, err := find(table, entries[0].key); !damaged(err) {
		t.Errorf("blocks are in the map; Find returns %v", err)
	}
}
