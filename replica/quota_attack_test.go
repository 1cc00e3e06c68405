package replica

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// flooder is a device that writes much, in one log or in many.
func flooder(p *peer, n byte, logs int) (all []*forger) {
	key := ed25519.NewKeyFromSeed(append(make([]byte, 31), n))
	for i := range logs {
		f := &forger{key: key, space: p.space.id, run: &run{}}
		g := entry.Genesis{Device: f.device(), Incarnation: [16]byte{1, byte(i), byte(i >> 8)}}
		f.add(g.Entry(hlc.At(noon)))
		all = append(all, f)
	}
	return all
}

// next returns a run of so many entries of a forger that were not sent yet.
func (f *forger) next(entries int, title string) *run {
	f.run = &run{log: f.log, first: f.seq}
	for range entries {
		f.add(data(int(f.seq), title))
	}
	return f.run
}

// restrict sets the quotas of a replica.
func (p *peer) restrict(device, space Quota) {
	p.space.perDevice, p.space.perSpace = device, space
}

// A flood of valid entries and logs: the quota of the device stops it, with a reason, and what
// others send in the same moment is taken.
func TestAttack15_flood(t *testing.T) {
	for name, c := range map[string]struct {
		device, space Quota
		most          int // entries of the flooder that are taken
	}{
		"entries":         {device: Quota{Entries: 100}, most: 1 + 256},
		"bytes":           {device: Quota{Bytes: 1000}, most: 1 + 256},
		"stored":          {device: Quota{Stored: 40_000}, most: 1 + 600},
		"space's entries": {space: Quota{Entries: 300}, most: 1 + 512},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, nil)
			p.restrict(c.device, c.space)
			bad, good := flooder(p, 1, 1)[0], flooder(p, 2, 1)[0]
			p.allow()
			runs := []*run{good.run, bad.run}
			if err := p.space.apply(runs); err != nil {
				t.Fatal(err)
			}
			var refused error
			for range 20 {
				if err := p.space.apply([]*run{bad.next(256, strings.Repeat("x", 40))}); err != nil {
					refused = err
				}
			}
			if !errors.Is(refused, ErrQuota) {
				t.Errorf("got %v", refused)
			}
			if n := p.entriesOf(bad); n > c.most || n < 2 {
				t.Errorf("%d entries were taken", n)
			}
			if c.space != (Quota{}) {
				return
			}
			if err := p.space.apply([]*run{good.next(3, "good")}); errors.Is(err, ErrInvalid) {
				t.Error(err)
			}
			if n := p.entriesOf(good); n != 4 {
				t.Errorf("%d entries of another device were taken", n)
			}
			st := p.status()
			if st.Refused == 0 || !strings.Contains(fmt.Sprint(st.Refusals), "quota") {
				t.Errorf("the status says %v", st.Refusals)
			}
		})
	}
}

// entriesOf returns how many entries of a forger's log a replica has.
func (p *peer) entriesOf(f *forger) (n int) {
	for _, fact := range factsOf(p) {
		if fact.Log == f.log {
			n++
		}
	}
	return n
}

// Logs without number: a device has as many as its quota, also after the space is opened again, and
// other devices have theirs.
func TestAttack15_logs(t *testing.T) {
	p := newPeer(t, nil)
	p.restrict(Quota{Logs: 64}, Quota{Logs: 200})
	send := func(n byte, logs int) (all int) {
		var runs []*run
		for _, f := range flooder(p, n, logs) {
			runs = append(runs, f.run)
		}
		if err := p.space.apply(runs); !errors.Is(err, ErrQuota) && logs > 64 {
			t.Errorf("got %v", err)
		}
		for _, h := range p.status().Heads {
			if h.Device == flooder(p, n, 1)[0].device() {
				all++
			}
		}
		return all
	}
	if n := send(1, 500); n != 64 {
		t.Errorf("%d logs were taken", n)
	}
	if n := send(2, 20); n != 20 {
		t.Errorf("%d logs of another device were taken", n)
	}
	s, err := Open(p.db, "team", p.options())
	if err != nil {
		t.Fatal(err)
	}
	p.space = s
	p.restrict(Quota{Logs: 64}, Quota{Logs: 200})
	if n := send(1, 70); n != 64 {
		t.Errorf("%d logs were taken after the space was opened again", n)
	}
}

// What is over a rate waits, and is taken when time has passed, whatever the clock does meanwhile.
func TestQuota_ofARateLetsEntriesWait(t *testing.T) {
	p := newPeer(t, nil)
	p.restrict(Quota{Entries: 10}, Quota{})
	f := flooder(p, 1, 1)[0]
	genesis := f.run
	if err := p.space.apply([]*run{genesis, f.next(20, "a")}); err != nil {
		t.Fatal(err) // a run goes as a whole
	}
	if err := p.space.apply([]*run{f.next(5, "b")}); !errors.Is(err, ErrQuota) {
		t.Errorf("got %v", err)
	}
	if w := p.waiting(); len(w) != 1 || !errors.Is(w[0].Reason, ErrQuota) {
		t.Errorf("got %v", w)
	}
	p.now = noon.Add(-time.Hour)
	_ = p.space.apply(nil)
	for i := range 4 {
		p.now = noon.Add(time.Duration(i) * time.Second)
		_ = p.space.apply(nil)
	}
	if n := p.entriesOf(f); n != 26 || len(p.waiting()) > 0 {
		t.Errorf("%d entries, %v", n, p.waiting())
	}
}

// Admit refuses what the program does not want, with its reason, and is told what entries do.
func TestAdmit_refusesWithAReason(t *testing.T) {
	p := newPeer(t, nil)
	want := errors.New("titles are short here")
	p.space.admission = func(tx *stoat.Tx, offer *Offer) error {
		for _, e := range offer.Entries {
			for _, c := range e.Changes {
				for _, f := range c.Fields {
					if s, ok := f.Value.(string); ok && len(s) > 5 {
						return want
					}
				}
			}
		}
		return nil
	}
	both := flooder(p, 0, 2)
	f, g := both[0], both[1]
	runs := []*run{f.run, g.run}
	if err := p.space.apply(append(runs, f.next(1, "ok"))); err != nil {
		t.Fatal(err)
	}
	err := p.space.apply([]*run{f.next(1, "much too long"), g.next(1, "fine")})
	if !errors.Is(err, ErrNotAdmitted) || !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if p.entriesOf(f) != 2 || p.entriesOf(g) != 2 {
		t.Error("the wrong entries were taken")
	}
	other := newPeer(t, p)
	meet(t, p, other)
	agree(t, p, other)
}

// A session goes on when a quota refuses something, says why, and a later one brings the rest.
func TestQuota_endsNoSession(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	for id := range int64(600) {
		a.put(task{ID: id})
	}
	b.put(task{ID: 1000})
	b.restrict(Quota{Stored: 20_000}, Quota{})
	x, y := net.Pipe()
	done := make(chan error, 1)
	once := &SyncOptions{Once: true}
	go func() { done <- Sync(context.Background(), a.space, y, once) }()
	err := Sync(context.Background(), b.space, x, once)
	if there := <-done; !errors.Is(err, ErrQuota) || !errors.Is(there, ErrNotTaken) {
		t.Errorf("here: %v\nthere: %v", err, there)
	}
	if a.get(1000) == nil || b.get(599) != nil {
		t.Error("the quota works in the wrong direction")
	}
	b.restrict(Quota{}, Quota{})
	meet(t, a, b)
	agree(t, a, b)
}

// A quota fills at its rate, however often somebody asks.
func TestQuota_fillsHoweverOftenItIsAsked(t *testing.T) {
	quota := Quota{Entries: 10, Bytes: 10}
	u := &usage{filled: noon, entries: -4, bytes: -4} // 10 a second add up to 5
	for i := range 50 {
		u.fill(quota, noon.Add(time.Duration(i+1)*10*time.Millisecond))
	}
	if u.exceeds(quota, 0, 0) != nil {
		t.Errorf("after half a second, %v entries and %v bytes may be taken", u.entries, u.bytes)
	}
}

// Devices of which nothing is taken are forgotten: anybody can make any number of them.
func TestQuota_forgetsDevicesOfWhichItTakesNothing(t *testing.T) {
	p := newPeer(t, nil)
	p.restrict(Quota{}, Quota{Logs: 1}) // which is the own one
	for n := range byte(10) {
		err := p.space.apply([]*run{flooder(p, 100+n, 1)[0].run})
		if !errors.Is(err, ErrQuota) {
			t.Fatalf("got %v", err)
		}
	}
	if n := len(p.space.taken.devices); n != 1 {
		t.Errorf("it remembers %d devices", n)
	}
}
