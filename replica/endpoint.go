package replica

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/fork"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// endpoint is what sessions need of a space. It is safe for concurrent use.
type endpoint struct{ s *Space }

var _ session.Space = endpoint{}

// local is a session.Space of this package.
type local interface {
	session.Space
	replica() *Space
}

func (e endpoint) replica() *Space { return e.s }

// domainDatabase is what the name of a database in sessions begins with.
const domainDatabase = "stoat.replica.database.v1"

// ID implements session.Space.
func (e endpoint) ID() entry.Hash { return e.s.id }

// Key implements session.Space.
func (e endpoint) Key() [32]byte { return e.s.device.ID() }

// Sign implements session.Space.
func (e endpoint) Sign(message []byte) [64]byte {
	return [64]byte(ed25519.Sign(e.s.device.key, message))
}

// Database implements session.Space.
func (e endpoint) Database() (name [16]byte) {
	id := e.s.db.Identity()
	p := append([]byte(domainDatabase), e.s.id[:]...)
	p = binary.BigEndian.AppendUint64(append(p, id.Database[:]...), id.Branch)
	sum := sha256.Sum256(append(p, e.s.name...)) // a database may have several replicas of a space
	copy(name[:], sum[:])
	return name
}

// Now implements session.Space.
func (e endpoint) Now() time.Time { return e.s.time() }

// EntryMax implements session.Space.
func (e endpoint) EntryMax() int {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	return e.s.entryMax
}

// Description implements session.Space.
func (e endpoint) Description() (described []byte, err error) {
	err = e.s.db.View(func(tx *stoat.Tx) error {
		p, err := e.s.description(tx)
		if p != nil {
			described = append([]byte{}, p...)
		}
		return err
	})
	return described, err
}

// Describe implements session.Space.
func (e endpoint) Describe(p []byte) error { return e.s.describe(p) }

// describe stores the description of the space, which came from others, unless it is known.
func (s *Space) describe(described []byte) error {
	about, err := entry.ParseSpace(described)
	if err == nil && about.ID() != s.id {
		err = invalid("the description of the space")
	}
	if err != nil {
		return err
	}
	known := false
	err = s.db.View(func(tx *stoat.Tx) error {
		p, err := s.description(tx)
		known = p != nil
		return err
	})
	if err != nil || known {
		return err
	}
	err = s.db.Update(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		return t.meta.Put([]byte(keyDescription), described)
	})
	if err != nil {
		return err
	}
	return s.readLimits()
}

// view runs a function in a transaction that reads.
func (e endpoint) view(fn func(t *txn) error) error {
	return e.s.db.View(func(tx *stoat.Tx) error {
		t, err := e.s.in(tx)
		if err != nil {
			return err
		}
		return fn(t)
	})
}

// Position implements session.Space.
func (e endpoint) Position() (p session.Position, whole bool, err error) {
	err = e.view(func(t *txn) error {
		if p, err = t.position(); err != nil {
			return err
		}
		h, err := t.ownHead()
		whole = err == nil && h.sealed >= h.next
		return err
	})
	if err == nil {
		err = e.s.db.Sync()
	}
	return p, whole, err
}

// Resume implements session.Space.
func (e endpoint) Resume(token session.Token) (arrival uint64, ok bool, err error) {
	err = e.view(func(t *txn) error {
		arrival, ok, err = t.resume(token)
		return err
	})
	return arrival, ok, err
}

// Announce implements session.Space.
func (e endpoint) Announce(after uint64, most int) (
	heads []session.Head, p session.Position, more bool, err error,
) {
	err = e.view(func(t *txn) error {
		heads, p, more, err = t.announce(after, most)
		return err
	})
	if err == nil {
		err = e.s.db.Sync()
	}
	e.s.chronicle.reach(p)
	return heads, p, more, err
}

// News implements session.Space.
func (e endpoint) News(after uint64) (news []session.News, p session.Position, ok bool) {
	news, p, ok = e.s.chronicle.since(after)
	if !ok || len(news) > 0 {
		return news, p, ok
	}
	if err := e.s.catchUp(); err != nil {
		return nil, p, false // the caller asks the database, and gets the error
	}
	return e.s.chronicle.since(after)
}

// Changed implements session.Space.
func (e endpoint) Changed() <-chan struct{} { return e.s.chronicle.wait() }

// Seal implements session.Space.
func (e endpoint) Seal() error {
	before := e.s.chronicle.position()
	err := e.s.sealAll()
	if err == nil {
		e.s.chronicle.await(before)
	}
	return err
}

// Own implements session.Space.
func (e endpoint) Own() (id entry.Hash, err error) {
	err = e.view(func(t *txn) error {
		h, err := t.ownHead()
		if err == nil {
			id = h.id
		}
		return err
	})
	return id, err
}

// Find implements session.Space.
func (e endpoint) Find(heads []session.Head) ([]session.Log, error) {
	logs := make([]session.Log, len(heads))
	waiting := e.s.waitingEnds()
	err := e.view(func(t *txn) error {
		for i := range heads {
			if err := t.lookUp(&heads[i], &logs[i]); err != nil {
				return err
			}
			logs[i].Waiting = waiting[heads[i].Log]
		}
		return nil
	})
	return logs, err
}

// waitingEnds returns the ends of the runs that wait, by what names their logs in sessions.
func (s *Space) waitingEnds() map[[12]byte]uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ends map[[12]byte]uint64
	for _, w := range s.room.runs {
		if ends == nil {
			ends = map[[12]byte]uint64{}
		}
		name := [12]byte(w.run.log[:12])
		ends[name] = max(ends[name], w.run.end())
	}
	return ends
}

// lookUp sets what this replica has of the log of a head.
func (t *txn) lookUp(of *session.Head, l *session.Log) error {
	name := append([]byte(prefixNumber), of.Log[:]...)
	from := stoat.Prefix(name)
	from.Limit = 1
	own, err := t.ownNumber()
	if err != nil {
		return err
	}
	for _, p := range t.meta.Scan(from) {
		if len(p) != 4 {
			return stoat.ErrCorrupt
		}
		h, err := t.head(binary.BigEndian.Uint32(p))
		if err != nil {
			return err
		}
		*l = session.Log{Number: h.number, ID: h.id, Next: max(h.next, h.sealed), Sealed: h.sealed,
			Own: h.number == own, Over: h.cut > 0 && h.next >= h.cut && of.Next > h.cut}
		if of.Next <= l.Next && of.Next > 0 {
			l.Hash, err = t.hashOf(h.number, of.Next-1)
			if l.Pruned = errors.Is(err, ErrPruned); err != nil && !l.Pruned {
				return err
			}
		}
	}
	return t.tx.Err()
}

// Run implements session.Space.
func (e endpoint) Run(log uint32, first uint64, to *session.Reader) (got *session.Run, err error) {
	err = e.view(func(t *txn) error {
		h, err := t.head(log)
		if err != nil {
			return err
		}
		r, err := t.runFrom(h, first)
		if err == nil {
			err = t.withhold(r, to)
		}
		if err != nil {
			return err
		}
		got = &session.Run{Log: r.log, First: r.first, Entries: r.entries, Seal: r.seal}
		if first > 0 {
			got.Prev, err = t.hashOf(log, first-1)
		}
		return err
	})
	return got, err
}

// End implements session.Space.
func (e endpoint) End(log uint32) (n uint64, err error) {
	err = e.view(func(t *txn) error {
		h, err := t.head(log)
		if err == nil {
			n = max(h.next, h.sealed)
		}
		return err
	})
	return n, err
}

// Time implements session.Space.
func (e endpoint) Time(log uint32, seq uint64) (at uint64, err error) {
	err = e.view(func(t *txn) error {
		time, err := t.timeOf(spot{log, seq})
		at = uint64(time)
		return err
	})
	return at, err
}

// Proof implements session.Space.
func (e endpoint) Proof(log uint32) (p *session.Proof, err error) {
	err = e.view(func(t *txn) error {
		h, err := t.head(log)
		if err != nil {
			return err
		}
		encoded, err := t.proofOf(h)
		p = &session.Proof{Encoded: bytes.Clone(encoded), Device: h.device, From: h.cut, To: h.sealed}
		return err
	})
	return p, err
}

// Prove implements session.Space.
func (e endpoint) Prove(proof []byte) error {
	p, err := fork.Parse(proof)
	if err != nil {
		return invalid("a fork proof: %w", err)
	}
	known := false
	err = e.view(func(t *txn) error {
		known, err = t.knows(p)
		return err
	})
	if err != nil || known {
		return err
	}
	c, err := e.s.claimOf(p)
	if err != nil {
		return err
	}
	return e.s.prove([]claim{c})
}

// Apply implements session.Space. A run of the own log that goes on where this replica has written
// something else, or nothing, is handled there, too.
func (e endpoint) Apply(number uint64, runs []*session.Run) ([]session.Refusal, error) {
	e.s.mu.Lock()
	from := e.s.peers[number].Device
	e.s.mu.Unlock()
	all := make([]*run, len(runs))
	for i, r := range runs {
		all[i] = &run{log: r.Log, first: r.First, prev: &r.Prev, entries: r.Entries, seal: r.Seal,
			from: from}
	}
	return e.s.applyFrom(number, all)
}

// Sync implements session.Space.
func (e endpoint) Sync() error { return e.s.db.Sync() }
