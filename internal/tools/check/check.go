// Package check verifies one version of a database: its files match the manifest, everything in
// them can be read and found, and every pointer leads to a value.
//
// [Quick] reads headers, footers and indexes. [Deep] reads everything reachable: every block of
// every table, past the cache, and every value that a table points to. Damage goes into [Findings]
// and the check continues until its context ends. It reads one table at a time, and needs memory
// for an index, a block, some thousand pointers and the ids of all buckets.
// A [Check] does the same table by table, when they are there.
//
// A check is a function of a superversion, which may be used meanwhile. It starts no goroutine and
// changes nothing. The engine checks the manifest's file, the log and the folder.
package check

import (
	"context"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
)

// Config says what is verified.
type Config struct {
	Snapshot *superversion.Superversion
	Dir      string // of the database
	Manifest string // the path of the manifest's file

	Table  func(*manifest.Table) string    // the path of a table's file
	Values func(manifest.ValueFile) string // the path of a value file
	Read   func(bytes uint64)              // called with how much was verified since the last call
	// Verified, if not nil, is called after each table that was read. Its error ends the check.
	Verified func(*manifest.Table) error
}

// Quick verifies headers, footers and indexes, and compares them with the manifest. Its error is
// that of ctx.
func Quick(ctx context.Context, c Config, found *Findings) error {
	version := c.Snapshot.Levels.Version
	if err := version.Verify(); err != nil {
		found.Add(c.Manifest, err)
	}
	err := ctx.Err()
	c.Snapshot.Levels.Each(func(h superversion.Handle) {
		if err == nil {
			path := c.Table(h.Meta)
			if says, err := h.Table.VerifyIndex(); err != nil {
				found.Add(path, err)
			} else {
				compareCounts(path, h.Meta, says, found)
			}
			err = ctx.Err()
		}
	})
	if err == nil {
		values := newValues(&c, found)
		values.openAll()
		values.close()
	}
	return err
}

// compareCounts compares a table's counts with the manifest.
func compareCounts(path string, meta *manifest.Table, got table.Summary, found *Findings) {
	for _, n := range [...]struct {
		what      string
		got, want uint64
	}{
		{"entries", got.Entries, meta.Entries},
		{"tombstones", got.Tombstones, meta.Tombstones},
		{"bytes of keys and values", got.RawBytes, meta.RawBytes},
	} {
		if n.got != n.want {
			found.Add(path, corrupt.New(path, 0, "the table has %d %s, the manifest says %d", n.got,
				n.what, n.want))
		}
	}
}
