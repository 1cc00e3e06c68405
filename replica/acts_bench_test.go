package replica

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stoatdb/stoat"
)

// grantTo gives a right to a device of that number.
func (p *peer) grantTo(tx *stoat.Tx, number uint64) error {
	var id DeviceID
	binary.BigEndian.PutUint64(id[:], number)
	id[31] = 1
	return p.space.Grant(tx, id, Write, In("items"))
}

// withGrants returns a replica whose root has made n grants, to different devices.
func withGrants(b *testing.B, n uint64) *peer {
	b.Helper()
	p, _ := items(b, true)
	for from := uint64(0); from < n; {
		p.update(func(tx *stoat.Tx) error {
			for range min(n-from, 1000) {
				if err := p.grantTo(tx, from); err != nil {
					return err
				}
				from++
			}
			return nil
		})
	}
	must(b, p.space.Seal())
	return p
}

// runsSince returns the runs of the own log from an entry on.
func (p *peer) runsSince(seq uint64) (runs []*run, end uint64) {
	p.t.Helper()
	must(p.t, p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		h, err := t.ownHead()
		for end = seq; err == nil && end < h.sealed; {
			var r *run
			if r, err = t.runFrom(h, end); err == nil {
				runs, end = append(runs, r), r.end()
			}
		}
		return err
	}))
	return runs, end
}

// BenchmarkGrant is a grant in a transaction of its own, in a space that has many.
func BenchmarkGrant(b *testing.B) {
	for _, acts := range []uint64{0, 2000, 16000} {
		b.Run(fmt.Sprintf("acts=%d", acts), func(b *testing.B) {
			p := withGrants(b, acts)
			next := acts
			for b.Loop() {
				next++
				p.update(func(tx *stoat.Tx) error { return p.grantTo(tx, next) })
			}
		})
	}
}

// BenchmarkGrant_merged is a grant of another replica that arrives alone, in a space that has many.
func BenchmarkGrant_merged(b *testing.B) {
	for _, acts := range []uint64{0, 2000, 16000} {
		b.Run(fmt.Sprintf("acts=%d", acts), func(b *testing.B) {
			from := withGrants(b, acts)
			db, err := stoat.Open(b.TempDir(), &stoat.Options{Sync: stoat.SyncNever})
			must(b, err)
			b.Cleanup(func() { _ = db.Close() })
			to := &peer{t: b, db: db, now: noon, seed: [32]byte{4}}
			to.space, err = Join(db, "team", from.space.ID(), to.options())
			must(b, err)
			must(b, to.space.describe(from.described()))
			runs, end := from.runsSince(0)
			must(b, to.space.apply(runs))
			next := acts
			for b.Loop() {
				b.StopTimer()
				next++
				from.update(func(tx *stoat.Tx) error { return from.grantTo(tx, next) })
				must(b, from.space.Seal())
				runs, end = from.runsSince(end)
				b.StartTimer()
				must(b, to.space.apply(runs))
			}
		})
	}
}
