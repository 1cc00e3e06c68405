package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// inFolder opens a folder of a disk, with an engine whose sizes are tiny, as a database of the
// replica.
func (p *peer) inFolder(disk *memfs.FS, dir string) {
	p.t.Helper()
	db, err := tuned.Open(disk, dir, nil, tuned.Sizes()[0])
	must(p.t, err)
	p.t.Cleanup(func() { _ = db.Close() })
	p.db = db
}

// Replicas that stay together are flushed, compacted and backed up while both are written to. Each
// backup is a replica that goes on in a log of its own, and brings what it has.
func TestSync_besideFlushesCompactionsAndBackups(t *testing.T) {
	disk := memfs.New()
	a := &peer{t: t, now: noon, seed: [32]byte{1}, family: new(byte)}
	a.inFolder(disk, "db")
	opts := a.options()
	opts.Roots = testRoots()
	var err error
	a.space, err = Create(a.db, "team", opts)
	must(t, err)
	a.open()
	b := newPeer(t, a)
	end := stay(t, a.space, b.space)
	var group sync.WaitGroup
	rounds, backups := int64(80), 4
	if testing.Short() {
		rounds, backups = 20, 2
	}
	written, stop := context.WithCancel(t.Context())
	for i, p := range []*peer{a, b} {
		group.Go(func() {
			for n := range rounds {
				err := p.db.Update(func(tx *stoat.Tx) error {
					return p.tasks.Put(tx, &task{ID: n%7 + int64(10*i), Title: fmt.Sprint(n)})
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	var others sync.WaitGroup
	for _, p := range []*peer{a, b} {
		for _, work := range []func(context.Context) error{
			func(context.Context) error { return p.db.Flush() }, p.db.Compact,
		} {
			others.Go(func() {
				for written.Err() == nil {
					if err := work(written); err != nil && !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
				}
			})
		}
	}
	var copies []*peer
	for i := range backups {
		dir := fmt.Sprint("backup", i)
		must(t, tuned.Backup(t.Context(), a.db, disk, dir, i%2 == 0))
		c := &peer{t: t, now: noon, seed: a.seed, copies: a.another(), family: a.family}
		c.inFolder(disk, dir)
		c.space, err = Open(c.db, "team", c.options())
		must(t, err)
		c.open()
		must(t, c.verify())
		copies = append(copies, c)
	}
	group.Wait()
	stop()
	others.Wait()
	end()
	for i, c := range copies {
		c.put(task{ID: int64(100 + i)})
	}
	agreeAfter(t, append(copies, b, a)...)
	a.wantNoForks()
}
