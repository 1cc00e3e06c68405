package replica

import (
	"context"
	"errors"
	"net"
	"testing"
)

// startBehindCut has sessions that are cut after some bytes of the source, until the other replica
// has stored some of a checkpoint: a session drops what it has not stored yet.
func startBehindCut(t *testing.T, source, p *peer, n int) (st *Start) {
	t.Helper()
	for range 100 {
		x, y := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), source.space, &cut{x, n}, once) }()
		err := Sync(context.Background(), p.space, y, once)
		if err := errors.Join(err, <-done); err == nil {
			t.Fatal("the session was not cut")
		}
		if st = p.startOf(); st != nil && st.Stored > 0 {
			break
		}
	}
	if st == nil || st.Stored == 0 || st.Stored == st.Chunks {
		t.Fatalf("the start is at %+v", st)
	}
	return st
}

// startLacking has a session, and returns how many chunks of its start the other replica lacked.
func startLacking(t *testing.T, source, p *peer) (lacks int) {
	t.Helper()
	status := &SyncOptions{Once: true,
		OnStatus: func(s SyncStatus) { lacks = max(lacks, int(s.ChunksLacking)) }}
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), source.space, x, once) }()
	must(t, errors.Join(Sync(context.Background(), p.space, y, status), <-done))
	return lacks
}

// renew makes another checkpoint, and prunes.
func renew(p *peer) {
	p.t.Helper()
	p.put(task{ID: 80, Title: "newer"})
	p.put(task{ID: 3, Note: "changed"})
	must(p.t, p.checkpoint())
	must(p.t, p.space.Seal())
	must(p.t, p.space.Prune())
}

// Peers may have different checkpoints. A start goes on with the newer one, and takes what both
// share once; with the older one, it fails with a reason and stays as it is.
func TestStart_ofPeersWithDifferentCheckpoints(t *testing.T) {
	a := bulky(t)
	b := newPeer(t, a)
	meet(t, a, b) // it has the older checkpoint
	renew(a)
	c := newPeer(t, a)
	before := startBehindCut(t, b, c, 1_800_000)
	lacks := startLacking(t, a, c)
	if now := before.Chunks - before.Stored; lacks < now || lacks > now+4 {
		t.Errorf("it takes %d chunks, with %+v", lacks, before)
	}
	agree(t, a, c)
	must(t, c.verify())

	late := newPeer(t, a)
	begun := startBehindCut(t, a, late, 1_800_000)
	if err := meeting(b, late); !errors.Is(err, errOlder) || !errors.Is(err, ErrPruned) {
		t.Errorf("got %v", err)
	}
	if now := late.startOf(); now == nil || *now != *begun || late.get(1) != nil {
		t.Errorf("the start is at %+v instead of %+v", now, begun)
	}
	meet(t, c, late)
	meet(t, c, b) // lacks what the newer checkpoint covers
	agree(t, a, b, c, late)
	for _, p := range []*peer{b, late} {
		must(t, p.verify())
	}
}

// A peer that alternates checkpoints does not fill the disk with chunks of those that are given up.
func TestStart_dropsChunksOfAnotherCheckpoint(t *testing.T) {
	a := bulky(t)
	b := newPeer(t, a)
	meet(t, a, b)
	for id := range int64(50) {
		v := a.get(id)
		v.Title = "all chunks are others"
		a.put(*v)
	}
	renew(a)
	c := newPeer(t, a)
	startBehindCut(t, b, c, 1_800_000)
	st := startBehindCut(t, a, c, 1_800_000)
	lacks := startLacking(t, a, c)
	if lacks != st.Chunks-st.Stored {
		t.Errorf("it takes %d chunks, with %+v", lacks, st)
	}
	agree(t, a, c)
}

// meanwhile is a connection that does something once some bytes were written.
type meanwhile struct {
	net.Conn
	left int
	do   func()
}

func (m *meanwhile) Write(p []byte) (int, error) {
	if m.left -= len(p); m.left < 0 && m.do != nil {
		m.do()
		m.do = nil
	}
	return m.Conn.Write(p)
}

// A source that prunes further while it gives a checkpoint offers the newer one, in the same
// session.
func TestStart_whileTheSourcePrunes(t *testing.T) {
	for _, n := range []int{0, 1000, 40_000, 600_000, 1_500_000, 2_300_000} {
		a := bulky(t)
		c := newPeer(t, a)
		x, y := net.Pipe()
		done := make(chan error, 1)
		conn := &meanwhile{x, n, func() { renew(a) }}
		go func() { done <- Sync(context.Background(), a.space, conn, once) }()
		err := Sync(context.Background(), c.space, y, once)
		if err := errors.Join(err, <-done); err != nil {
			t.Errorf("after %d bytes: %v", n, err)
		}
		if conn.do != nil {
			t.Errorf("after %d bytes, nothing was pruned", n)
		}
		meet(t, a, c)
		agree(t, a, c)
		if c.get(80) == nil || c.startOf() != nil {
			t.Errorf("after %d bytes, the newer state is not there", n)
		}
		must(t, c.verify())
	}
}
