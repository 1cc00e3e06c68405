package replica

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// stay keeps two replicas together until the function that it returns is called.
func stay(t testing.TB, a, b *Space) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	x, y := net.Pipe()
	done := make(chan error, 2)
	go func() { done <- Sync(ctx, a, x, nil) }()
	go func() { done <- Sync(ctx, b, y, nil) }()
	return func() {
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	}
}

// awaitTask returns when a replica has a task with a title.
func awaitTask(t testing.TB, p *peer, id int64, title string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, err := range p.tasks.Watch(ctx, p.db, p.tasks.Query()) {
		if err != nil {
			t.Fatal(err)
		}
		if v := p.get(id); v != nil && v.Title == title {
			return
		}
	}
}

// What is written on one side arrives on the other, also through a third one, and several sessions
// of the same replicas do no harm.
func TestSync_lasts(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	c := newPeer(t, a)
	defer stay(t, a.space, b.space)()
	defer stay(t, b.space, c.space)()
	defer stay(t, c.space, b.space)()
	for i := range int64(20) {
		a.put(task{ID: 1, Title: string(rune('a' + i))})
		awaitTask(t, c, 1, string(rune('a'+i)))
		c.put(task{ID: 2, Title: string(rune('a' + i))})
		awaitTask(t, a, 2, string(rune('a'+i)))
	}
	agree(t, a, b, c)
}

// A database may have two replicas of a space, and open one of them twice.
func TestSync_withinADatabase(t *testing.T) {
	a := newPeer(t, nil)
	opts := a.options()
	opts.Device, _ = LoadDevice(make([]byte, 32))
	a.update(func(tx *stoat.Tx) error {
		return a.space.Grant(tx, opts.Device.ID(), Write)
	})
	other, err := Join(a.db, "copy", a.space.ID(), opts)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open(a.db, "team", a.options())
	if err != nil {
		t.Fatal(err)
	}
	defer stay(t, a.space, other)()
	defer stay(t, again, other)()
	b := newPeer(t, a)
	defer stay(t, other, b.space)()
	a.put(task{ID: 1, Title: "x"})
	awaitTask(t, b, 1, "x")
}

// A session hears what another Space of its replica merges or seals.
func TestSync_ofASpaceOpenedTwice(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	again, err := Open(a.db, "team", a.options())
	must(t, err)
	_, err = Collection[task](again, "tasks", nil)
	must(t, err)
	defer stay(t, a.space, b.space)()
	defer stay(t, again, c.space)()
	for _, title := range []string{"x", "y"} {
		for i, p := range []*peer{b, c, a} {
			p.put(task{ID: int64(i), Title: title})
			for _, q := range []*peer{a, b, c} {
				awaitTask(t, q, int64(i), title)
			}
		}
	}
}

func TestSync_needsADevice(t *testing.T) {
	a := newPeer(t, nil)
	reader, err := Open(a.db, "team", nil)
	if err != nil {
		t.Fatal(err)
	}
	x, y := net.Pipe()
	defer func() { _ = y.Close() }()
	if err := Sync(context.Background(), reader, x, once); !errors.Is(err, errNoDevice) {
		t.Errorf("got %v", err)
	}
}

// What had to wait for entries of one peer, and came from another one, is sent to the first.
func TestSync_sendsWhatWaited(t *testing.T) {
	a := newPeer(t, nil)
	b, c := newPeer(t, a), newPeer(t, a)
	meet(t, a, b)
	meet(t, a, c)
	b.put(task{ID: 1})
	meet(t, b, c)
	c.put(task{ID: 2})
	if err := a.space.apply(c.runs(0)); err != nil || len(a.waiting()) != 1 {
		t.Fatal(err, a.waiting())
	}
	for range 2 {
		meet(t, a, b)
	}
	if b.get(2) == nil {
		t.Error("it was not sent")
	}
}

// A program is told how far a session is, and of clocks that differ.
func TestSync_tellsItsStatus(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for i := range int64(10) {
		a.put(task{ID: i})
	}
	b.now = noon.Add(-time.Hour)
	var here, there SyncStatus
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Sync(context.Background(), b.space, y,
			&SyncOptions{Once: true, OnStatus: func(s SyncStatus) { there = s }})
	}()
	err := Sync(context.Background(), a.space, x,
		&SyncOptions{Once: true, OnStatus: func(s SyncStatus) { here = s }})
	if other := <-done; !errors.Is(err, ErrAhead) || other != nil {
		t.Fatal(err, other)
	}
	if !here.CaughtUp || !here.Acknowledged || here.Sent < 11 || here.Skew != -time.Hour {
		t.Errorf("got %+v", here)
	}
	if !there.CaughtUp || there.Received != here.Sent || there.Peer != a.space.device.ID() {
		t.Errorf("got %+v", there)
	}
}

// Replicas that have the same say so in few bytes.
func TestSync_takesFewBytes(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	bytes := func() int64 {
		x, y := net.Pipe()
		here, there := &counted{ReadWriteCloser: x}, &counted{ReadWriteCloser: y}
		done := make(chan error, 1)
		go func() { done <- Sync(context.Background(), b.space, there, once) }()
		err := Sync(context.Background(), a.space, here, once)
		if other := <-done; err != nil || other != nil {
			t.Fatal(err, other)
		}
		return here.bytes.Load() + there.bytes.Load()
	}
	a.put(task{ID: 1})
	bytes()
	if n := bytes(); n > 700 {
		t.Errorf("%d bytes for nothing new", n)
	}
}

// What keeps changes from being watched for a while does not keep them from sessions for good.
func TestSync_watchesAgainAfterErrors(t *testing.T) {
	for err, again := range map[error]bool{io.ErrUnexpectedEOF: true, stoat.ErrCorrupt: true,
		stoat.ErrLagged: true, stoat.ErrClosed: false, stoat.ErrBucketNotFound: false,
		stoat.ErrReadOnly: false} {
		if got := watchAgain(err); got != again {
			t.Errorf("%v: %v", err, got)
		}
	}
}
