package replica

import (
	"encoding/json"
	"errors"
	"net"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

// status returns the status of a replica, which must encode as JSON.
func (p *peer) status() (s *Status) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		s, err = p.space.Status(tx)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := json.Marshal(s); err != nil {
		p.t.Error(err)
	}
	return s
}

// runs returns the runs of the log that a replica writes, from an entry on.
func (p *peer) runs(first uint64) (runs []*run) {
	p.t.Helper()
	must(p.t, p.space.Seal())
	p.inTx(func(t *txn) error {
		h, err := t.ownHead()
		for seq := first; err == nil && seq < h.sealed; {
			var r *run
			r, err = t.runFrom(h, seq)
			runs = append(runs, r)
			seq += uint64(len(r.entries))
		}
		return err
	})
	return runs
}

func TestStatus_saysWhatWaitsAndWhoHasIt(t *testing.T) {
	p := newPeer(t, nil)
	q, r := newPeer(t, p), newPeer(t, p)
	meet(t, p, q)
	meet(t, p, r)
	p.put(task{ID: 1})
	if s := p.status(); s.Unsent != 1 || s.Name != "team" || s.Space != p.space.ID() {
		t.Errorf("%+v", s)
	}
	meet(t, p, q)
	q.put(task{ID: 2})
	r.now = r.now.Add(time.Second)
	if err := r.space.apply(q.runs(0)); err != nil {
		t.Fatal(err)
	}
	s := r.status()
	wanted := EntryID{p.logID(), 1}
	if len(s.Waiting) != 1 || s.Waiting[0].For == nil || *s.Waiting[0].For != wanted ||
		!s.Waiting[0].Since.Equal(r.now) || s.Waiting[0].Log != q.logID() {
		t.Errorf("waiting: %+v", s.Waiting)
	}
	missing := Missing{Log: wanted.Log, Have: 1, Entries: 2, SeenBy: []DeviceID{q.space.device.ID()}}
	if len(s.Missing) != 1 || !reflect.DeepEqual(s.Missing[0], missing) {
		t.Errorf("missing: %+v", s.Missing)
	}
	since := r.now
	r.now = r.now.Add(time.Hour)
	must(t, r.space.apply(nil))
	if w := r.status().Waiting; len(w) != 1 || !w[0].Since.Equal(since) {
		t.Errorf("still waiting: %+v", w)
	}
	text, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(text), `"reason":"log `) ||
		!strings.Contains(string(text), p.logID().String()) {
		t.Errorf("%s (%v)", text, err)
	}
	meet(t, p, r)
	if s := r.status(); len(s.Waiting)+len(s.Missing) > 0 {
		t.Errorf("%+v", s)
	}
}

func TestStatus_remembersRefusals(t *testing.T) {
	p := newPeer(t, nil)
	q := newPeer(t, p)
	p.put(task{ID: 1})
	runs := p.runs(0)
	meet(t, p, q)
	runs[0].seal[3]++
	for range recentMax + 1 {
		if err := q.space.apply(runs); !errors.Is(err, ErrInvalid) {
			t.Fatal(err)
		}
	}
	s := q.status()
	if s.Refused != recentMax+1 || len(s.Refusals) != recentMax {
		t.Errorf("%d refusals, and %d remembered", s.Refused, len(s.Refusals))
	}
	f := s.Refusals[0]
	if f.Log != p.logID() || !errors.Is(f.Reason, ErrInvalid) || !f.Time.Equal(q.now) {
		t.Errorf("%+v", f)
	}
}

func TestStatus_listsWhatIsVoid(t *testing.T) {
	root, _, guest := offline(t, func(guest *peer) {
		guest.put(task{ID: 2})
		guest.put(task{ID: 3})
	})
	voids := func() (all []Void) {
		err := root.db.View(func(tx *stoat.Tx) error {
			for v, err := range root.space.Void(tx) {
				if err != nil {
					return err
				}
				all = append(all, *v)
			}
			return nil
		})
		must(t, err)
		return all
	}
	all := voids()
	if n := root.status().Void; n != 2 || len(all) != 2 {
		t.Fatalf("%d, and %+v", n, all)
	}
	v := all[0]
	if v.Log != guest.logID() || v.Device != guest.space.device.ID() || v.Repeated ||
		v.Reason == "" || !reflect.DeepEqual(v.Collections, []string{"tasks"}) {
		t.Errorf("%+v", v)
	}
	root.adopt(guest)
	if all := voids(); len(all) != 2 || !all[0].Repeated || !all[1].Repeated {
		t.Errorf("%+v", all)
	}
}

// watched is a connection that calls a function before each write.
type watched struct {
	net.Conn
	before func()
}

func (w *watched) Write(p []byte) (int, error) {
	w.before()
	return w.Conn.Write(p)
}

func TestStatus_showsSessions(t *testing.T) {
	p := newPeer(t, nil)
	q := newPeer(t, p)
	var seen []Peer
	x, y := net.Pipe()
	conn := &watched{x, func() {
		if s := p.status(); len(s.Peers) > 0 {
			seen = s.Peers
		}
	}}
	done := make(chan error, 1)
	go func() { done <- Sync(t.Context(), q.space, y, once) }()
	must(t, Sync(t.Context(), p.space, conn, once))
	must(t, <-done)
	want := []Peer{{q.space.device.ID(), p.now}}
	if !reflect.DeepEqual(seen, want) || len(p.status().Peers) > 0 {
		t.Errorf("%+v, and then %+v", seen, p.status().Peers)
	}
}
