package check

import (
	"bytes"
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// deep is the state of a deep check.
type deep struct {
	Config
	ctx      context.Context
	found    *Findings
	catalog  *catalog                  // nil if it cannot be read
	values   map[uint64]*valuelog.File // those that can be used
	pointers []pointer                 // not followed yet

	live    map[uint64]total // what tables point to, by value file
	partial bool             // damage kept some of it from being counted
}

// total is a number of values and their bytes.
type total struct{ count, bytes uint64 }

// Deep verifies everything reachable. Its error is that of ctx or of c.Verified.
func Deep(ctx context.Context, c Config, found *Findings) error {
	d := &deep{Config: c, ctx: ctx, found: found, live: make(map[uint64]total)}
	if err := c.Snapshot.Levels.Version.Verify(); err != nil {
		found.Add(c.Manifest, err)
	}
	values, release := c.openValues(found)
	defer release()
	d.values = values
	unreadable, err := d.readCatalog()
	if err != nil {
		return err
	}
	levels := c.Snapshot.Levels
	for i, r := range append(slices.Clip(levels.Young), levels.Bottom) {
		for _, h := range r.Tables {
			err := d.table(h, i == len(levels.Young))
			if err == nil && c.Verified != nil {
				err = c.Verified(h.Meta)
			}
			if err != nil {
				return err
			}
		}
	}
	d.compareLive()
	if found.Len() == 0 && unreadable != nil {
		found.Add(c.Dir, unreadable) // otherwise a table's finding already says so
	}
	return ctx.Err()
}

// read reports that so many bytes were verified, and returns why the check must end, if it must.
func (d *deep) read(bytes uint64) error {
	d.Read(bytes)
	return d.ctx.Err()
}

func (d *deep) table(h superversion.Handle, bottom bool) error {
	t := &tally{deep: d, meta: h.Meta, path: d.Table(h.Meta), pointed: make(map[uint64]total)}
	s, whole, err := h.Table.Verify(table.Verification{
		Damage: func(err error) { d.found.Add(t.path, err) },
		Entry:  t.entry,
		Read:   t.read,
	})
	if err == nil {
		err = d.follow()
	}
	if err != nil {
		return err
	}
	if !whole {
		d.partial = true
		return nil
	}
	compareCounts(t.path, h.Meta, s, d.found)
	if bottom && s.Tombstones > 0 {
		t.wrong("the table has %d tombstones, though nothing is below the bottom run", s.Tombstones)
	}
	if !bytes.Equal(s.Smallest, h.Meta.Smallest) || !bytes.Equal(s.Largest, h.Meta.Largest) {
		t.wrong("the table has the keys %q to %q, the manifest says %q to %q", s.Smallest, s.Largest,
			h.Meta.Smallest, h.Meta.Largest)
	}
	if !slices.Equal(s.Dictionaries, h.Meta.Dictionaries) {
		t.wrong("the table refers to the dictionaries %d, the manifest says %d", s.Dictionaries,
			h.Meta.Dictionaries)
	}
	t.compareShares()
	return nil
}

// compareLive compares how much of the value files is live with what tables point to.
func (d *deep) compareLive() {
	if d.partial {
		return
	}
	for _, f := range d.Snapshot.Levels.Version.ValueFiles {
		if got, want := d.live[f.Number], (total{f.Count, f.Live}); got != want {
			path := d.Values(f)
			d.found.Add(path, corrupt.New(path, 0, "tables point to %d values of %d bytes in it, the "+
				"manifest says %d of %d", got.count, got.bytes, want.count, want.bytes))
		}
	}
}
