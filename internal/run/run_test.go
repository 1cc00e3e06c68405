package run

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
)

func TestWriter_cutsTablesAtTheirSize(t *testing.T) {
	for _, size := range []int64{600, 1500, 6000} {
		c := config(newFS(t))
		c.TableBytes = size
		w := NewWriter(c)
		completed, err := add(w, numbered(1, 500))
		check(t, err)
		output, err := w.Finish()
		check(t, err)
		tables := output.Tables
		if len(tables) < 3 || completed != len(tables) && completed != len(tables)-1 {
			t.Fatalf("size %d: %d tables, %d completed", size, len(tables), completed)
		}
		for i, meta := range tables {
			// The writer knows the size, except for an entry and what is appended at the end.
			small := i < completed && int64(meta.Size) < size*9/10
			if small || int64(meta.Size) > size*11/10+200 {
				t.Errorf("size %d: table %d of %d has %d bytes", size, i, len(tables), meta.Size)
			}
		}
	}
}

func TestWriter_startsATableOnlyForAnEntry(t *testing.T) {
	c := config(newFS(t))
	c.TableBytes = 1
	w := NewWriter(c)
	completed, err := add(w, numbered(1, 3))
	check(t, err)
	output, err := w.Finish()
	check(t, err)
	tables := output.Tables
	if files := list(t, c.FS); completed != 3 || len(tables) != 3 || len(files) != 3 {
		t.Errorf("3 entries in tables of 1 byte: %d completed, %d tables, files %v", completed,
			len(tables), files)
	}
}

func TestWriter_recordsWhatTablesHold(t *testing.T) {
	c := config(newFS(t))
	c.DropEpoch = 9
	entries := numbered(1, 200)
	tables := writeTables(t, c, entries)
	if got := readAll(t, c.FS, tables); !slices.Equal(got, entries) {
		t.Fatalf("%d entries come back of %d, or others", len(got), len(entries))
	}
	for i, meta := range tables {
		if meta.Number != uint64(5+i) {
			t.Errorf("table %d has number %d, want %d", i, meta.Number, 5+i)
		}
		got, want := fmt.Sprintf("%+v", *meta), fmt.Sprintf("%+v", described(t, c, meta))
		if got != want {
			t.Errorf("table %d is recorded as\n%s, it is\n%s", i, got, want)
		}
	}
}

func TestWriter_returnsARunThatAVersionAccepts(t *testing.T) {
	tables := writeTables(t, config(newFS(t)), append(puts(catalogKey(0, "a"), nextIDKey()),
		numbered(1, 100)...))
	for _, edit := range []*manifest.Edit{
		{AddYoung: []manifest.Run{{Tables: tables}}}, {AddBottom: tables},
	} {
		if _, err := new(manifest.Version).Apply(edit); err != nil {
			t.Error(err)
		}
	}
}

func TestWriter_keepsCatalogAndDataApart(t *testing.T) {
	c := config(newFS(t))
	catalog := puts(catalogKey(0, "a"), catalogKey(0, "b"), sequenceKey(3), nextIDKey())
	data := puts(dataKey(0, "x"), dataKey(3, "y"))
	tables := writeTables(t, c, slices.Concat(catalog, data))
	if len(tables) != 2 {
		t.Fatalf("%d tables, want 2", len(tables))
	}
	if got := read(t, c.FS, tables[0]); !slices.Equal(got, catalog) {
		t.Errorf("the first table holds %v", got)
	}
	if got := read(t, c.FS, tables[1]); !slices.Equal(got, data) {
		t.Errorf("the second table holds %v", got)
	}
}

func TestWriter_refusesKeysThatDoNotAscend(t *testing.T) {
	for name, keys := range map[string][]string{
		"equal":                     {dataKey(7, "b"), dataKey(7, "b")},
		"falling":                   {dataKey(7, "b"), dataKey(7, "a")},
		"back to an earlier bucket": {dataKey(7, "b"), dataKey(8, "a"), dataKey(7, "c")},
	} {
		w := NewWriter(config(newFS(t)))
		_, err := add(w, puts(keys...))
		if err == nil || !strings.Contains(err.Error(), "table 000005") {
			t.Errorf("%s keys: Add says %v, want an error that names the table", name, err)
		}
		if _, err := w.Finish(); err == nil {
			t.Errorf("%s keys: Finish has forgotten the error", name)
		}
		check(t, w.Abort())
	}
}

func TestWriter_leavesOutDroppedBuckets(t *testing.T) {
	entries := puts(
		catalogKey(0, "a"), catalogKey(3, "b"), catalogKey(4, "c"),
		sequenceKey(3), sequenceKey(4), sequenceKey(300), nextIDKey(),
		dataKey(0, "d"), dataKey(3, "e"), dataKey(3, "f"), dataKey(4, "g"), dataKey(300, "h"),
		dataKey(301, "i"),
	)
	want := puts(catalogKey(0, "a"), catalogKey(4, "c"), sequenceKey(4), nextIDKey(),
		dataKey(0, "d"), dataKey(4, "g"), dataKey(301, "i"))
	c := config(newFS(t))
	c.Dropped = func(id uint64) bool { return id == 3 || id == 300 }
	tables := writeTables(t, c, entries)
	if got := readAll(t, c.FS, tables); !slices.Equal(got, want) {
		t.Errorf("the tables hold %v, want %v", got, want)
	}
}

func TestWriter_leavesOutWhatSaysThatABucketWasDropped(t *testing.T) {
	c := config(newFS(t))
	tables := writeTables(t, c, puts(catalogKey(0, "a"), droppedKey(3), droppedKey(4), nextIDKey()))
	want := puts(catalogKey(0, "a"), nextIDKey())
	if got := readAll(t, c.FS, tables); !slices.Equal(got, want) {
		t.Errorf("the tables hold %v, want %v", got, want)
	}
}

func TestWriter_writesNothingForAnEmptyRun(t *testing.T) {
	for name, entries := range map[string][]entry{
		"no entries":   nil,
		"all left out": puts(catalogKey(3, "a"), droppedKey(3), dataKey(3, "b")),
	} {
		c := config(newFS(t))
		c.Dropped = func(id uint64) bool { return id == 3 }
		if tables := writeTables(t, c, entries); len(tables) > 0 {
			t.Errorf("%s: %d tables", name, len(tables))
		}
		if names := list(t, c.FS); len(names) > 0 {
			t.Errorf("%s: files %v", name, names)
		}
		if n := c.NextNumber(); n != 5 {
			t.Errorf("%s: file numbers were used up to %d", name, n)
		}
	}
}

func TestWriter_givesFiltersWhenAsked(t *testing.T) {
	for _, filtered := range []bool{false, true} {
		c := config(newFS(t))
		c.TableBytes, c.Filter = 1<<20, filtered
		meta := writeTables(t, c, numbered(1, 200))[0]
		found := foundWithoutHash(t, c.FS, meta)
		if filtered && found > 50 || !filtered && found != 200 {
			t.Errorf("filter %v: %d of 200 entries are found with a wrong hash", filtered, found)
		}
	}
}

func TestWriter_compressesWhenAsked(t *testing.T) {
	var sizes [2]uint64
	for i, compress := range []bool{false, true} {
		c := config(newFS(t))
		c.TableBytes, c.BlockBytes, c.Compress = 1<<20, 0, compress
		meta := writeTables(t, c, numbered(1, 200))[0]
		if meta.Compressed != compress {
			t.Errorf("compress %v: the table is recorded as compressed: %v", compress, meta.Compressed)
		}
		sizes[i] = meta.Size
	}
	if sizes[1] >= sizes[0]/2 {
		t.Errorf("compression makes %d bytes of %d", sizes[1], sizes[0])
	}
}

func TestWriter_writesBlocksOfTheirSize(t *testing.T) {
	var sizes [2]uint64
	for i, block := range []int{50, 5000} {
		c := config(newFS(t))
		c.TableBytes, c.BlockBytes = 1<<20, block
		sizes[i] = writeTables(t, c, numbered(1, 200))[0].Size
	}
	if sizes[0] < sizes[1]*5/4 { // each block takes space in the index
		t.Errorf("tables have %d bytes with small blocks, %d with large ones", sizes[0], sizes[1])
	}
}

func TestAbort_removesAllFiles(t *testing.T) {
	for _, n := range []int{0, 1, 200} {
		c := config(newFS(t))
		w := NewWriter(c)
		_, err := add(w, numbered(1, n))
		check(t, err)
		if before := list(t, c.FS); n > 0 && len(before) == 0 {
			t.Fatal("there is nothing to remove")
		}
		check(t, w.Abort())
		if names := list(t, c.FS); len(names) > 0 {
			t.Errorf("%d entries: files %v are left", n, names)
		}
		check(t, w.Abort()) // there is nothing more to do
	}
}

func TestAbort_removesFinishedTables(t *testing.T) {
	c := config(newFS(t))
	w := NewWriter(c)
	_, err := add(w, numbered(1, 200))
	check(t, err)
	_, err = w.Finish()
	check(t, err)
	check(t, w.Abort())
	if names := list(t, c.FS); len(names) > 0 {
		t.Errorf("files %v are left", names)
	}
}

func TestAbort_leavesFilesThatAreNotTheWriters(t *testing.T) {
	c := config(newFS(t))
	f, err := c.FS.Create(filepath.Join(testDir, folder.Table.Name(5)))
	check(t, err)
	check(t, f.Close())
	w := NewWriter(c)
	_, err = add(w, numbered(1, 1))
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("Add says %v where the file is there already", err)
	}
	check(t, w.Abort())
	if names := list(t, c.FS); !slices.Equal(names, []string{folder.Table.Name(5)}) {
		t.Errorf("files %v are left", names)
	}
}

func TestWriter_refusesKeysThatDoNotAscendFromTableToTable(t *testing.T) {
	for _, second := range []string{"a", "b"} {
		c := config(newFS(t))
		c.TableBytes = 1
		if _, err := add(NewWriter(c), puts(dataKey(7, "b"), dataKey(7, second))); err == nil {
			t.Errorf("%q behind %q is no error", second, "b")
		}
	}
}
