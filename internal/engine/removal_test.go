package engine

import (
	"slices"
	"strings"
	"testing"

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
