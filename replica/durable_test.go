package replica

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// openOn opens the database of a replica on a file system, without syncs of commits.
func (p *peer) openOn(files *memfs.FS) {
	p.t.Helper()
	db, err := tuned.Open(files, "db", &stoat.Options{Sync: stoat.SyncNever}, engine.Tuning{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = db.Close() })
	p.db = db
}

// snooped is a connection that shows everything before it is sent.
type snooped struct {
	net.Conn
	before func(p []byte)
}

func (w *snooped) Write(p []byte) (int, error) {
	w.before(p)
	return w.Conn.Write(p)
}

// Nothing leaves a replica before it is durable: after a power cut at any moment of a session, the
// replica has all entries that the peer may have of it, though commits are not synced. So its log
// does not fork.
func TestSync_sendsNothingThatAPowerCutCouldTakeBack(t *testing.T) {
	files := memfs.NewCrashable()
	a := &peer{t: t, now: noon, seed: [32]byte{1}, branch: 1}
	a.openOn(files)
	var err error
	if a.space, err = Create(a.db, "team", a.options()); err != nil {
		t.Fatal(err)
	}
	a.open()
	a.allow()
	b := newPeer(t, a)
	log := a.logID()
	for round := range int64(3) {
		stop := make(chan struct{})
		var group sync.WaitGroup
		group.Go(func() { // entries that are not durable, all the time
			for n := int64(0); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				_ = a.db.Update(func(tx *stoat.Tx) error {
					return a.tasks.Put(tx, &task{ID: n % 7, Best: round<<32 + n})
				})
			}
		})
		var cuts []*memfs.FS
		var last []byte
		x, y := net.Pipe()
		w := &snooped{x, func(p []byte) {
			if !bytes.Equal(p, last) {
				cuts = append(cuts, files.CrashKeepNone())
				last = bytes.Clone(p)
			}
		}}
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), b.space, y, once) }()
		if err := Sync(context.Background(), a.space, w, once); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		close(stop)
		group.Wait()
		after := &peer{t: t, now: a.now, seed: a.seed, branch: 1, copies: 200 + byte(round)}
		after.openOn(cuts[len(cuts)-1])
		if after.space, err = Open(after.db, "team", after.options()); err != nil {
			t.Fatal(err)
		}
		after.open()
		if here, there := after.lengthOf(log), b.lengthOf(log); here < there {
			t.Fatalf("round %d: %d entries are left, and the peer has %d", round, here, there)
		}
		after.put(task{ID: 100, Title: "after the cut"})
		c := newPeer(t, a)
		meet(t, b, c)
		meet(t, after, c)
		if cut := c.cutOf([32]byte(log)); cut != 0 {
			t.Errorf("round %d: the log forks at %d", round, cut)
		}
	}
}

// lengthOf returns the number of entries of a log.
func (p *peer) lengthOf(log LogID) (n uint64) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		heads, err := p.space.Heads(tx)
		for _, h := range heads {
			if h.Log == log {
				n = h.Entries
			}
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}
