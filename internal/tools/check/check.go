// Package check verifies one version of a database: that its files are what the manifest says, that
// everything in them can be read and found, and that nothing points to what is not there.
//
// [Quick] looks at what files say about themselves. [Deep] reads all that can be reached: every
// block of every table, past the cache, and every value that a table points to. What is wrong goes
// into [Findings], and the check goes on; it ends early only when its context does. Tables are read
// one after the other, so that it takes the memory of an index, a block, some thousand pointers and
// the ids of all buckets.
//
// A check is a function of the superversion it is given, which may be used meanwhile; it starts no
// goroutine and changes nothing. The manifest's file, the log and the folder are the engine's to
// look at.
package check

import (
	"context"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// Config says what is verified.
type Config struct {
	Snapshot *superversion.Superversion
	Dir      string // of the database
	Manifest string // the path of the manifest's file

	Table  func(*manifest.Table) string    // the path of a table's file
	Values func(manifest.ValueFile) string // the path of a value file
	Read   func(bytes uint64)              // is told how much was verified since the last call
	// Verified, if not nil, is called behind each table that Deep has read. An error ends that.
	Verified func(*manifest.Table) error
}

// Quick verifies headers, footers and indexes, and compares them with the manifest. It returns why
// ctx ended, if it did.
func Quick(ctx context.Context, c Config, found *Findings) error {
	version := c.Snapshot.Levels.Version
	if err := version.Verify(); err != nil {
		found.Add(c.Manifest, err)
	}
	err := ctx.Err()
	c.Snapshot.Levels.Each(func(h superversion.Handle) {
		if err == nil {
			c.index(h, found)
			err = ctx.Err()
		}
	})
	if err == nil {
		_, release := c.openValues(found)
		release()
	}
	return err
}

// index compares what a table says about itself with the manifest.
func (c *Config) index(h superversion.Handle, found *Findings) {
	path := c.Table(h.Meta)
	says, err := h.Table.VerifyIndex()
	if err != nil {
		found.Add(path, err)
		return
	}
	compareCounts(path, h.Meta, says, found)
}

// compareCounts compares what a table says about itself, or has, with what the manifest says.
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

// openValues opens the value files, which verifies their headers, and returns those that can be
// used, by number, until release is called.
func (c *Config) openValues(found *Findings) (usable map[uint64]*valuelog.File, release func()) {
	usable = make(map[uint64]*valuelog.File)
	levels := c.Snapshot.Levels
	var opened []func()
	for _, f := range levels.Version.ValueFiles {
		file, release, err := levels.Values(f.Number).Anew()
		if err != nil {
			found.Add(c.Values(f), err)
			continue
		}
		usable[f.Number] = file
		opened = append(opened, release)
	}
	return usable, func() {
		for _, release := range opened {
			release()
		}
	}
}
