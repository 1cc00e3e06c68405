package check

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/table"
)

// Check is a deep check in progress. Tables may be verified in any order, each once its file and
// those of its values are there, and are followed by the rest.
type Check struct {
	Config
	ctx      context.Context
	found    *Findings
	catalog  *catalog  // nil before all tables were read
	values   *values   // those that pointers lead to
	pointers []pointer // not followed yet

	spans   spans            // what the tables hold
	live    map[uint64]total // what they point to, by value file
	partial bool             // damage kept some of it from being counted
}

// total is a number of values and their bytes.
type total struct{ count, bytes uint64 }

// Begin begins a deep check. It ends with Close.
func Begin(ctx context.Context, c Config, found *Findings) *Check {
	d := &Check{Config: c, ctx: ctx, found: found, live: make(map[uint64]total)}
	d.values = newValues(&d.Config, found)
	return d
}

// Advance goes on, until another context ends, with a snapshot that has all tables and value files
// of the one before.
func (d *Check) Advance(ctx context.Context, to *superversion.Superversion) {
	d.ctx, d.Snapshot = ctx, to
}

// Tables returns the tables of the snapshot, and which are in the bottom run.
func (d *Check) Tables() iter.Seq2[superversion.Handle, bool] {
	levels := d.Snapshot.Levels
	return func(yield func(superversion.Handle, bool) bool) {
		for i, r := range append(slices.Clip(levels.Young), levels.Bottom) {
			for _, h := range r.Tables {
				if !yield(h, i == len(levels.Young)) {
					return
				}
			}
		}
	}
}

// Verify verifies a table and the values that it points to. Its error is that of the context or of
// Verified.
func (d *Check) Verify(h superversion.Handle, isBottom bool) error {
	t := &tally{Check: d, meta: h.Meta, path: d.Table(h.Meta), pointed: make(map[uint64]total)}
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
	if whole {
		t.compare(s, isBottom)
	} else {
		d.partial = true
	}
	if d.Verified != nil {
		return d.Verified(h.Meta)
	}
	return nil
}

// read reports that so many bytes were verified, and returns why the check must end, if it must.
func (d *Check) read(bytes uint64) error {
	d.Read(bytes)
	return d.ctx.Err()
}

// compare compares a table that could be read with what the manifest says.
func (t *tally) compare(s table.Summary, isBottom bool) {
	meta := t.meta
	compareCounts(t.path, meta, s, t.found)
	if isBottom && s.Tombstones > 0 {
		t.wrong("the table has %d tombstones, though nothing is below the bottom run", s.Tombstones)
	}
	if !bytes.Equal(s.Smallest, meta.Smallest) || !bytes.Equal(s.Largest, meta.Largest) {
		t.wrong("the table has the keys %q to %q, the manifest says %q to %q", s.Smallest, s.Largest,
			meta.Smallest, meta.Largest)
	}
	if !slices.Equal(s.Dictionaries, meta.Dictionaries) {
		t.wrong("the table refers to the dictionaries %d, the manifest says %d", s.Dictionaries,
			meta.Dictionaries)
	}
	t.compareShares()
}

// Finish verifies what is left once all tables were. Its error is that of the context.
func (d *Check) Finish() error {
	if err := d.Snapshot.Levels.Version.Verify(); err != nil {
		d.found.Add(d.Manifest, err)
	}
	d.values.openAll()
	unreadable, err := d.readCatalog()
	if err != nil {
		return err
	}
	if d.catalog != nil {
		d.spans.check(d.catalog, d.found)
	}
	d.compareLive()
	if d.found.Len() == 0 && unreadable != nil {
		d.found.Add(d.Dir, unreadable) // otherwise a table's finding already says so
	}
	return d.ctx.Err()
}

// compareLive compares how much of the value files is live with what tables point to.
func (d *Check) compareLive() {
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

// Close releases what the check has opened.
func (d *Check) Close() { d.values.close() }

// Deep verifies everything reachable. Its error is that of ctx or of c.Verified.
func Deep(ctx context.Context, c Config, found *Findings) error {
	d := Begin(ctx, c, found)
	defer d.Close()
	for h, isBottom := range d.Tables() {
		if err := d.Verify(h, isBottom); err != nil {
			return err
		}
	}
	return d.Finish()
}
