package replica

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// liar is a replica that does not give all that it says it has.
type liar struct {
	endpoint
	hides   map[entry.Hash]bool // logs
	bare    bool                // it withholds the content of all collections
	chunk   *session.ChunkID    // it does not give
	name    [16]byte            // of the database, if it says another one
	at      *session.Position   // up to which it says that it gives
	given   int                 // chunks
	refused int                 // chunks that it did not give
	told    error               // how its last session ended for it
}

func (l *liar) Database() [16]byte {
	if l.name != [16]byte{} {
		return l.name
	}
	return l.endpoint.Database()
}

func (l *liar) Position() (session.Position, bool, error) {
	if l.at != nil {
		return *l.at, true, nil
	}
	return l.endpoint.Position()
}

func (l *liar) Announce(after uint64, most int) (
	heads []session.Head, p session.Position, more bool, err error,
) {
	all, p, more, err := l.endpoint.Announce(after, most)
	for _, h := range all {
		hidden := false
		for log := range l.hides {
			hidden = hidden || [12]byte(log[:12]) == h.Log
		}
		if !hidden {
			heads = append(heads, h)
		}
	}
	if l.at != nil {
		p = *l.at
	}
	return heads, p, more, err
}

// News makes it announce what a peer has not heard of.
func (l *liar) News(after uint64) ([]session.News, session.Position, bool) {
	if after == 0 {
		return nil, session.Position{}, false
	}
	return l.endpoint.News(after)
}

func (l *liar) Run(log uint32, first uint64, to *session.Reader) (*session.Run, error) {
	if l.bare {
		to = &session.Reader{Device: to.Device}
	}
	return l.endpoint.Run(log, first, to)
}

func (l *liar) Chunk(
	to *session.Reader, checkpoint entry.Hash, id session.ChunkID,
) ([]byte, error) {
	if l.chunk != nil && *l.chunk == id {
		l.refused++
		return nil, nil
	}
	l.given++
	return l.endpoint.Chunk(to, checkpoint, id)
}

// visits has a session of a liar with a replica, and returns the error of that.
func (l *liar) visits(p *peer) error {
	p.t.Helper()
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() {
		config := &session.Config{Spaces: []session.Space{l}}
		done <- runSession(context.Background(), config, x, once)
	}()
	err := Sync(context.Background(), p.space, y, once)
	l.told = <-done
	return err
}

// A server that hides a log: what depends on it waits, the status says what is missing and who had
// it, and whoever has it gives it.
func TestAttack17_logsThatAreHidden(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	b.put(task{ID: 1, Title: "hidden"})
	meet(t, b, server)
	server.now = server.now.Add(time.Second)
	server.edit(func(v *task) { v.Title = "by the server" })
	must(t, server.space.Seal())
	hides := map[entry.Hash]bool{entry.Hash(b.logID()): true}
	l := &liar{endpoint: endpoint{server.space}, hides: hides}
	must(t, l.visits(a))
	missing := a.status().Missing
	if len(missing) != 1 || missing[0].Log != b.logID() || len(missing[0].SeenBy) != 1 ||
		missing[0].SeenBy[0] != server.space.device.ID() || a.get(1) != nil {
		t.Fatalf("the status has %+v, and the record is %+v", missing, a.get(1))
	}
	meet(t, a, b)
	if got := a.get(1); len(a.status().Missing) > 0 || got == nil || got.Title != "by the server" {
		t.Errorf("the record is %+v", got)
	}
	meet(t, a, server)
	agree(t, a, server)
}

// A server that withholds content from a device that may read it: the status says so, nothing is
// written where content is missing, and whoever has it gives it. A root does not believe it.
func TestAttack17_contentThatIsWithheld(t *testing.T) {
	for _, asRoot := range []bool{false, true} {
		server := newPeer(t, nil)
		b := newPeer(t, server)
		a := newPeer(t, server)
		if !asRoot {
			a = newGuest(t, server)
			server.grant(a, Write)
			meet(t, server, a)
		}
		b.put(task{ID: 1, Title: "withheld"})
		meet(t, b, server)
		l := &liar{endpoint: endpoint{server.space}, bare: true}
		err := l.visits(a)
		st := a.status()
		if asRoot && (!errors.Is(err, ErrNotHeld) || !errors.Is(l.told, ErrNotTaken) ||
			st.Refused == 0) {
			t.Errorf("a root does not refuse it: %v here, %v there, %+v", err, l.told, st)
		} else if !asRoot && errors.Join(err, l.told) != nil {
			t.Errorf("got %v here, and %v there", err, l.told)
		} else if !asRoot && (len(st.Withheld) != 1 || a.try(task{ID: 2}) == nil) {
			t.Errorf("the status has %+v", st)
		}
		if a.get(1) != nil {
			t.Error("it has what it was not given")
		}
		meet(t, a, b)
		if a.get(1) == nil || a.try(task{ID: 2}) != nil {
			t.Errorf("root: %t: an honest peer does not give it: %+v", asRoot, a.status())
		}
		meet(t, a, b)
		agree(t, a, b)
	}
}

// A server that withholds a chunk of its checkpoint, and offers it again instead: the session ends,
// what arrived stays, the status says how much is missing, and another replica gives that only.
func TestAttack17_chunkThatIsWithheld(t *testing.T) {
	server := bulky(t)
	other := newPeer(t, server)
	meet(t, server, other)
	a := newPeer(t, server)
	l := &liar{endpoint: endpoint{server.space}, chunk: &session.ChunkID{Tree: 1, N: 45}}
	err := l.visits(a)
	st := a.startOf()
	if !errors.Is(err, session.ErrPeer) || l.refused == 0 || st == nil || st.Stored < 10 {
		t.Fatalf("got %v, %+v", err, st)
	}
	honest := &liar{endpoint: endpoint{other.space}}
	must(t, honest.visits(a))
	if honest.given != st.Chunks-st.Stored {
		t.Errorf("the other one gives %d chunks, with %+v", honest.given, st)
	}
	agree(t, a, other)
	must(t, a.verify())
}

// A server that was put back, or says so, hands out what it had then. What its clients have stays,
// they give it back, and get the rest from each other.
func TestAttack18_serverThatHandsOutOldHeads(t *testing.T) {
	for _, claims := range []string{"its old state", "the new state"} {
		t.Run(claims, func(t *testing.T) {
			server := newPeer(t, nil)
			a, b := newPeer(t, server), newPeer(t, server)
			a.put(task{ID: 1, Title: "old"})
			meet(t, a, server)
			meet(t, b, server)
			old := newPeer(t, server)
			must(t, old.load(server.export(nil)))
			a.put(task{ID: 2, Title: "new"})
			b.put(task{ID: 3, Title: "new, too"})
			meet(t, a, server)
			meet(t, b, server)
			before := a.root()

			l := &liar{endpoint: endpoint{old.space}, name: endpoint{server.space}.Database()}
			if claims == "the new state" {
				at, _, err := endpoint{server.space}.Position()
				must(t, err)
				l.at = &at
			}
			must(t, l.visits(a))
			if a.root() != before || a.get(2) == nil {
				t.Error("a client has lost what it had")
			}
			late := newPeer(t, server)
			must(t, l.visits(late))
			meet(t, late, a) // another path
			meet(t, late, b)
			meet(t, a, b)
			agree(t, a, b, late)
			if late.get(2) == nil || late.get(3) == nil {
				t.Error("what the server did not hand out is missing")
			}
			for _, p := range []*peer{a, b, late} { // it is honest again
				meet(t, p, server)
			}
			agree(t, server, a, b, late)
		})
	}
}
