package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// textByKey is a record whose key and content have any size.
type textByKey struct {
	Key  string `stoat:"key,key"`
	Text string `stoat:"text"`
}

// Records of all sizes that fit travel; the others say why they do not, in few words.
func TestCollection_ofRecordsOfAnySize(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	texts, err := Collection[textByKey](a.space, "texts", nil)
	must(t, err)
	const keyMax = 1<<14 - 2 // an encoded key has two bytes more
	for _, size := range []struct {
		key, text int
		says      string // the error; empty: there is none
	}{
		{1, 0, ""}, {2, 5, ""}, {3, 14_000, ""}, {4, 1<<20 - 1000, ""}, {4, 1 << 20, "1048576"},
		{keyMax, 5, ""}, {keyMax + 1, 5, "16384"}, {70_000, 5, "65,535"},
	} {
		err := a.db.Update(func(tx *stoat.Tx) error {
			return texts.Put(tx, &textByKey{strings.Repeat("k", size.key), strings.Repeat("t", size.text)})
		})
		if size.says == "" {
			must(t, err)
		} else if !errors.Is(err, stoat.ErrTooLarge) || !strings.Contains(err.Error(), size.says) ||
			len(err.Error()) > 400 {
			t.Errorf("a key of %d bytes, a text of %d: %.500v", size.key, size.text, err)
		}
	}
	meet(t, a, b)
	agree(t, a, b)
}

// A transaction changes as many collections as an entry has parts; one more would make a log that
// nobody can read.
func TestCollection_ofWhichATransactionChangesMany(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	var all []*record.Collection[textByKey]
	for i := range entry.PartsMax + 1 {
		texts, err := Collection[textByKey](a.space, fmt.Sprint("texts", i), nil)
		must(t, err)
		all = append(all, texts)
	}
	put := func(into []*record.Collection[textByKey]) error {
		return a.db.Update(func(tx *stoat.Tx) error {
			for _, texts := range into {
				must(t, texts.Put(tx, &textByKey{Key: "a"}))
			}
			return nil
		})
	}
	if err := put(all); !errors.Is(err, stoat.ErrTooLarge) || !strings.Contains(err.Error(), "65") {
		t.Errorf("too many: %v", err)
	}
	must(t, put(all[1:]))
	meet(t, a, b)
	agree(t, a, b)
}

// Options that no space can have are named in the error.
func TestCreate_saysWhichOptionIsWrong(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	device := testDevice([32]byte{1})
	id := device.ID()
	for _, c := range []struct {
		opts Options
		says string
	}{
		{Options{EntryMax: 5}, "Options.EntryMax is 5:"},
		{Options{EntryMax: -5}, "Options.EntryMax is -5:"},
		{Options{EntryMax: 1 << 30}, "Options.EntryMax is 1073741824:"},
		{Options{Quorum: 2}, "Options.Quorum is 2:"},
		{Options{Quorum: -1}, "Options.Quorum is -1:"},
		{Options{Roots: []DeviceID{{9}, id, {9}}}, "has the device " + DeviceID{9}.String()},
		{Options{Roots: make([]DeviceID, 33)}, "Options.Roots has 33 devices"},
		{Options{Trusted: true, Quorum: 1}, "Options.Trusted is set"},
		{Options{Trusted: true, Roots: []DeviceID{id}}, "Options.Trusted is set"},
	} {
		c.opts.Device = device
		if _, err := Create(db, "team", &c.opts); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %q in it", err, c.says)
		}
	}
}

// A device whose clock was years ahead goes on by joining the space again, once the clock is set.
func TestJoin_afterTheClockWasYearsAhead(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	meet(t, a, b)
	b.now = noon.AddDate(10, 0, 0)
	b.put(task{ID: 2})
	b.now = noon
	b.put(task{ID: 3})
	meet(t, a, b)
	if a.get(3) != nil || len(a.waiting()) != 1 {
		t.Errorf("what was written behind an entry that is ahead waits: %v", a.waiting())
	}
	opts := b.options()
	opts.random = nil
	space, err := Join(b.db, "again", b.space.ID(), opts)
	must(t, err)
	again := &peer{t: t, db: b.db, space: space, now: noon, seed: b.seed}
	meet(t, again, a)
	again.open()
	again.put(task{ID: 3})
	meet(t, again, a)
	if a.get(3) == nil {
		t.Errorf("it waits: %v", a.waiting())
	}
	b.now, a.now = noon.AddDate(10, 0, 0), noon.AddDate(10, 0, 0)
	meet(t, a, b)
	if a.get(2) == nil {
		t.Errorf("its time has come: %v", a.waiting())
	}
}

// closing is a connection that does something before one of its reads.
type closing struct {
	net.Conn
	reads int // before it
	then  func()
}

func (c *closing) Read(p []byte) (int, error) {
	if c.reads--; c.reads == 0 {
		c.then()
	}
	return c.Conn.Read(p)
}

// A database that is closed, or a context that ends, at any moment of a session ends it with an
// error that says so, and the other side learns that it was not its fault.
func TestSync_isEndedAtAnyMoment(t *testing.T) {
	for _, ends := range []error{stoat.ErrClosed, context.Canceled} {
		for n := 1; ; n++ {
			a := newPeer(t, nil)
			b := newPeer(t, a)
			a.put(task{ID: 1})
			b.put(task{ID: 2})
			ctx, cancel := context.WithCancel(context.Background())
			x, y := net.Pipe()
			conn := &closing{y, n, cancel}
			reads := n
			if ends == stoat.ErrClosed {
				conn.then = func() { _ = b.db.Close() }
			}
			done := make(chan error, 1)
			go func() { done <- Sync(context.Background(), a.space, x, once) }()
			err := Sync(ctx, b.space, conn, once)
			other := <-done
			cancel()
			for _, err := range []error{err, other} {
				if n := strings.Count(fmt.Sprint(err), `space "team"`); err != nil && n != 1 {
					t.Errorf("before read %d: the space is named %d times: %v", reads, n, err)
				}
			}
			if errors.Is(other, ErrPeer) || errors.Is(other, stoat.ErrCorrupt) ||
				err != nil && !errors.Is(err, ends) {
				t.Errorf("%v before read %d: %v, and the other side: %v", ends, n, err, other)
			}
			if conn.reads > 0 { // the session has ended before
				break
			}
			if ends == context.Canceled {
				meet(t, a, b)
				agree(t, a, b)
			}
		}
	}
}

// A device or a principal that is not set is an error wherever one can be given.
func TestUnset_isAnError(t *testing.T) {
	a := newPeer(t, nil)
	for _, device := range []*Device{nil, {}} {
		opts := &Options{Device: device}
		_, created := Create(a.db, "new", opts)
		_, joined := Join(a.db, "new", a.space.ID(), opts)
		_, dialled := Dial(t.Context(), "localhost:1", device, DeviceID{1})
		for _, err := range []error{created, joined, dialled} {
			if err == nil || !strings.Contains(err.Error(), "NewDevice") {
				t.Errorf("%v: got %v", device, err)
			}
		}
	}
	if _, err := Open(a.db, "team", &Options{Device: &Device{}}); !errors.Is(err, errKeyless) {
		t.Errorf("got %v", err)
	}
	if none := (&Device{}); none.ID() != (DeviceID{}) || none.Key() != nil {
		t.Error("no device has a key")
	}
	if _, err := Create(a.db, "new", &Options{Device: a.space.device,
		Roots: []DeviceID{a.space.device.ID(), {}}}); err == nil {
		t.Error("nobody founds a space")
	}
	before := len(a.grants())
	var none *DeviceID
	for _, to := range []Principal{nil, none} {
		if err := a.db.Update(func(tx *stoat.Tx) error {
			return a.space.Revoke(tx, to)
		}); !errors.Is(err, errNobody) {
			t.Errorf("revoke: got %v", err)
		}
	}
	for _, to := range []Principal{nil, none, DeviceID{}} {
		if err := a.db.Update(func(tx *stoat.Tx) error {
			return a.space.Grant(tx, to, Write)
		}); !errors.Is(err, errNobody) {
			t.Errorf("grant: got %v", err)
		}
	}
	device := DeviceID{7}
	a.update(func(tx *stoat.Tx) error { return a.space.Grant(tx, &device, Write) })
	if n := len(a.grants()); n != before+1 {
		t.Errorf("%d grants, and there were %d", n, before)
	}
}
