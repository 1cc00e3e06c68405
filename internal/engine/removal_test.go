package engine

import (
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestOpenTable_mapsAllButSmallCatalogs(t *testing.T) {
	disk := memfs.New()
	e := mustOpen(t, disk, calm())
	ok(t, tryCommit(e, bucketNamed(0, "bucket"), number(1)))
	mustCommit(t, e, "a")
	ok(t, e.Close())

	var mapped []string
	e = mustOpen(t, faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind == faultfs.Map && strings.HasSuffix(op.Name, tableSuffix) {
			mapped = append(mapped, op.Name)
		}
		return nil
	}), calm())
	if _, found := get(t, e, bucketNamed(0, "bucket")); !found || len(mapped) != 0 {
		t.Errorf("the bucket is found: %v, with maps of %v", found, mapped)
	}
	wantWords(t, e, "a")
	var data []string
	for table := range e.state.Load().Levels.Version.Tables() {
		if keyspace.IsData(table.Smallest) {
			data = append(data, e.tablePath(table))
		}
		huge := *table
		huge.Size = maxWhole + 1
		if wantsWhole(&huge) {
			t.Errorf("a table from %q on is read as a whole, with %d bytes", huge.Smallest, huge.Size)
		}
	}
	if len(data) == 0 || !slices.Equal(mapped, data) {
		t.Errorf("tables %v are mapped, want %v", mapped, data)
	}
}

func TestRemoval_waitsForReadersThatCannotOpenTheFile(t *testing.T) {
	for _, test := range []struct {
		name  string
		cause error
		kept  bool
	}{
		{"now", errBroken, true},
		{"ever", corrupt.New("000001.table", 0, "damaged"), false},
	} {
		disk := closed(t, "a")
		e := mustOpen(t, disk, calm())
		tables := named(t, disk, tableSuffix)
		cause := test.cause
		open := func() error { return cause }

		e.installing.Lock()
		e.unlinkInstalling(tables[0], open)
		e.installing.Unlock()
		if kept := slices.Contains(named(t, disk, tableSuffix), tables[0]); kept != test.kept {
			t.Errorf("a table that cannot be opened %s is kept: %v", test.name, kept)
		}
		cause = nil
		e.removeAgain()
		if left := named(t, disk, tableSuffix); slices.Contains(left, tables[0]) {
			t.Errorf("a table that can be opened again is left: %v", left)
		}
	}
}
