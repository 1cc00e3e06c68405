package replica

import (
	"context"
	"errors"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// sessionOf brings two replicas together by their rights, and returns what each side sent and the
// errors.
func sessionOf(t testing.TB, a, b *Space) (sent, received int64, here, there error) {
	t.Helper()
	x, y := net.Pipe()
	xs, ys := &counted{ReadWriteCloser: x}, &counted{ReadWriteCloser: y}
	done := make(chan error, 1)
	go func() { done <- Sync(context.Background(), b, ys, once) }()
	here = Sync(context.Background(), a, xs, once)
	there = <-done
	return xs.bytes.Load(), ys.bytes.Load(), here, there
}

// logs returns how many logs a replica has.
func (p *peer) logs() (n int) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		heads, err := p.space.Heads(tx)
		n = len(heads)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// Who holds no grant gets nothing: neither entries nor the description, nor how much there is. Both
// sides are told why.
func TestAttack20_aStrangerGetsNothing(t *testing.T) {
	for _, tasks := range []int64{0, 300} {
		root := newPeer(t, nil)
		for id := range tasks {
			root.put(task{ID: id, Title: "secret"})
		}
		if err := root.space.Seal(); err != nil {
			t.Fatal(err)
		}
		db, err := stoat.OpenMemory(nil)
		must(t, err)
		defer func() { _ = db.Close() }()
		device, err := LoadDevice([]byte(strings.Repeat("s", 32)))
		must(t, err)
		stranger, err := Join(db, "team", root.space.ID(), &Options{Device: device})
		must(t, err)
		sent, _, here, there := sessionOf(t, root.space, stranger)
		if sent > 700 {
			t.Errorf("it is sent %d bytes", sent)
		}
		if !errors.Is(here, ErrNotAllowed) || !errors.Is(there, ErrNotAllowed) ||
			!strings.Contains(there.Error(), device.ID().String()) ||
			!strings.Contains(there.Error(), "Relay") {
			t.Errorf("got %v and %v", here, there)
		}
		described, err := endpoint{stranger}.Description()
		if err != nil || described != nil {
			t.Errorf("it knows the description %x, %v", described, err)
		}
		err = db.View(func(tx *stoat.Tx) error {
			heads, err := stranger.Heads(tx)
			if len(heads) != 1 || !heads[0].Own {
				t.Errorf("it has %v", heads)
			}
			st, err2 := stranger.Status(tx)
			if err2 == nil && (st.Refused == 0 || !errors.Is(st.Refusals[0].Reason, ErrNotAllowed)) {
				t.Errorf("the status says %+v", st.Refusals)
			}
			return errors.Join(err, err2)
		})
		must(t, err)
	}
}

// A guest that nobody has granted anything gets nothing, also if it knows the description; what it
// brings is taken, and has no effect.
func TestAccess_takesWhatAStrangerBrings(t *testing.T) {
	root := newPeer(t, nil)
	root.put(task{ID: 1})
	guest := newGuest(t, root)
	root.grant(guest, Write)
	meet(t, root, guest)
	root.revoke(guest)
	root.put(task{ID: 2})
	guest.put(task{ID: 3})
	before := guest.logs()
	_, _, here, there := sessionOf(t, root.space, guest.space)
	if !errors.Is(here, ErrNotAllowed) || !errors.Is(there, ErrNotAllowed) {
		t.Errorf("got %v and %v", here, there)
	}
	if guest.get(2) != nil || guest.logs() != before {
		t.Error("it got something")
	}
	if root.get(3) != nil || root.lengthOf(guest.logID()) != guest.lengthOf(guest.logID()) {
		t.Errorf("%d entries were taken", root.lengthOf(guest.logID()))
	}
}

// denials returns options for a session that lasts, and a channel of what SyncStatus.Denied says.
func denials() (*SyncOptions, <-chan string) {
	said := make(chan string, 100)
	last := ""
	return &SyncOptions{OnStatus: func(s SyncStatus) {
		if s.Denied != last {
			last = s.Denied
			said <- last
		}
	}}, said
}

// live keeps a replica and another one, whose denials it returns, together until the test ends.
func live(t *testing.T, a, b *peer) <-chan string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	x, y := net.Pipe()
	opts, said := denials()
	done := make(chan error, 2)
	go func() { done <- Sync(ctx, a.space, x, nil) }()
	go func() { done <- Sync(ctx, b.space, y, opts) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
	})
	return said
}

// await returns what a session says next.
func await(t *testing.T, said <-chan string) string {
	t.Helper()
	select {
	case text := <-said:
		return text
	case <-time.After(time.Minute):
		t.Fatal("the session says nothing")
	}
	return ""
}

// A session of a device that is revoked gives it nothing more, and a session of one that is granted
// a right begins to.
func TestAccess_changesDuringASession(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	said := live(t, root, guest)
	root.put(task{ID: 1, Title: "a"})
	if text := await(t, said); !strings.Contains(text, guest.space.device.ID().String()) {
		t.Errorf("it says %s", text)
	}
	for _, title := range []string{"b", "c"} {
		if guest.get(2) != nil {
			t.Error("it got something without a grant")
		}
		root.grant(guest, Read)
		awaitTask(t, guest, 1, map[string]string{"b": "a", "c": "b"}[title])
		if text := await(t, said); text != "" {
			t.Errorf("it says %s", text)
		}
		root.revoke(guest)
		root.put(task{ID: 1, Title: title})
		if await(t, said) == "" {
			t.Error("it does not say that it was revoked")
		}
		root.put(task{ID: 1, Title: title})
		if v := guest.get(1); v.Title == title {
			t.Error("a revoked device got something")
		}
	}
}

// A relay that does not know of a grant learns of it from the device, and then gives.
func TestAccess_isLearnedFromTheDevice(t *testing.T) {
	root := newPeer(t, nil)
	relay, other := newGuest(t, root), newPeer(t, root)
	root.joined++
	guest := newGuest(t, root)
	root.grant(relay, Read)
	for _, with := range []*peer{relay, other} {
		if _, _, here, there := sessionOf(t, root.space, with.space); here != nil || there != nil {
			t.Fatal(here, there)
		}
	}
	root.grant(guest, Write)
	if _, _, here, there := sessionOf(t, root.space, guest.space); here != nil || there != nil {
		t.Fatal(here, there)
	}
	other.put(task{ID: 1, Title: "from the relay"})
	guest.put(task{ID: 2, Title: "from the guest"})
	for _, with := range []*peer{other, guest} {
		if _, _, here, there := sessionOf(t, relay.space, with.space); here != nil || there != nil {
			t.Fatal(here, there)
		}
	}
	if guest.get(1) == nil || relay.get(2) == nil {
		t.Error("they did not exchange")
	}
	agree(t, relay, guest)
}

// Every device may read what is granted to Anyone.
func TestAccess_ofAnyone(t *testing.T) {
	root := newPeer(t, nil)
	root.put(task{ID: 1})
	guest := newGuest(t, root)
	if _, _, here, _ := sessionOf(t, root.space, guest.space); !errors.Is(here, ErrNotAllowed) {
		t.Errorf("got %v", here)
	}
	root.update(func(tx *stoat.Tx) error { return root.space.Grant(tx, Anyone, Read) })
	if _, _, here, there := sessionOf(t, root.space, guest.space); here != nil || there != nil {
		t.Errorf("got %v and %v", here, there)
	}
	if guest.get(1) == nil {
		t.Error("it got nothing")
	}
}

// Every device may read a trusted space.
func TestAccess_ofATrustedSpace(t *testing.T) {
	a := newTrusted(t, nil)
	a.put(task{ID: 1})
	b := newTrusted(t, a)
	if _, _, here, there := sessionOf(t, a.space, b.space); here != nil || there != nil {
		t.Errorf("got %v and %v", here, there)
	}
	if b.get(1) == nil {
		t.Error("it got nothing")
	}
}

// A grant that too few roots have endorsed lets nobody read.
func TestAccess_needsTheQuorum(t *testing.T) {
	first := newPeerOf(t, nil, testRoots(), 2)
	second := newPeer(t, first)
	guest := newGuest(t, first)
	first.grant(guest, Read)
	if _, _, here, there := sessionOf(t, first.space, second.space); here != nil || there != nil {
		t.Fatal(here, there)
	}
	if _, _, here, there := sessionOf(t, second.space, guest.space); !errors.Is(here, ErrNotAllowed) ||
		!errors.Is(there, ErrNotAllowed) || guest.logs() > 1 {
		t.Errorf("got %v and %v", here, there)
	}
	second.update(func(tx *stoat.Tx) error {
		return second.space.Endorse(tx, EntryID{first.logID(), first.lengthOf(first.logID()) - 1})
	})
	if _, _, here, there := sessionOf(t, second.space, guest.space); here != nil || there != nil {
		t.Errorf("got %v and %v", here, there)
	}
}

// A request by a device without a grant is answered with nothing but the reason, and a server
// without one is sent no entries.
func TestAccess_ofPosts(t *testing.T) {
	root := newPeer(t, nil)
	root.put(task{ID: 1, Title: "secret"})
	db, err := stoat.OpenMemory(nil)
	must(t, err)
	defer func() { _ = db.Close() }()
	device, err := LoadDevice([]byte(strings.Repeat("s", 32)))
	must(t, err)
	opts := &Options{Device: device, Now: root.options().Now}
	stranger, err := Join(db, "team", root.space.ID(), opts)
	must(t, err)
	err = Post(t.Context(), stranger, root.web(nil).URL, nil)
	if !errors.Is(err, ErrNotAllowed) || !strings.Contains(err.Error(), device.ID().String()) {
		t.Errorf("got %v", err)
	}
	described, err := endpoint{stranger}.Description()
	if err != nil || described != nil {
		t.Errorf("it knows the description %x, %v", described, err)
	}

	described, err = endpoint{root.space}.Description()
	must(t, err)
	must(t, endpoint{stranger}.Describe(described)) // it has that from elsewhere
	web := httptest.NewServer(Handler([]*Space{stranger}, nil))
	defer web.Close()
	if err := Post(t.Context(), root.space, web.URL, nil); err == nil {
		t.Error("a server without a grant is sent everything")
	}
	must(t, db.View(func(tx *stoat.Tx) error {
		heads, err := stranger.Heads(tx)
		if len(heads) != 1 || !heads[0].Own {
			t.Errorf("it has %v", heads)
		}
		return err
	}))
}
