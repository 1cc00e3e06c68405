package replica

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// salts returns the salts of the parts of the own log that others may have to do without.
func (p *peer) salts() (salts [][]byte) {
	p.t.Helper()
	p.inTx(func(t *txn) error {
		own, err := t.head(p.ownLog())
		for seq := uint64(0); err == nil && seq < own.next; seq++ {
			var e *entry.Entry
			if e, err = t.entry(own.number, seq); err != nil || e.Kind != entry.KindData {
				continue
			}
			for i := range e.Parts {
				c, err := entry.ParseChanges(e.Parts[i].Data)
				if err != nil {
					return err
				}
				salts = append(salts, c.Salt)
			}
		}
		return err
	})
	return salts
}

// As long as all devices with a grant may read everything, entries are not salted. From the first
// narrower grant on, each has a salt of its own, which is part of the hash that a relay knows.
func TestAttack20_guessesContentByItsHash(t *testing.T) {
	root := newPeer(t, nil)
	reader, relay := newGuest(t, root), newGuest(t, root)
	root.grant(reader, Write)
	root.put(task{ID: 1})
	root.grant(relay, Relay)
	root.put(task{ID: 2})
	root.put(task{ID: 2, Title: "again"})
	salts := root.salts()
	if len(salts) != 3 || salts[0] != nil || len(salts[1]) != entry.SaltSize ||
		len(salts[2]) != entry.SaltSize || bytes.Equal(salts[1], salts[2]) {
		t.Fatalf("the salts are %x", salts)
	}
	meet(t, root, relay)
	meet(t, root, reader)
	reader.put(task{ID: 3})
	meet(t, reader, root)
	agree(t, root, reader)
	if salts := reader.salts(); len(salts) != 1 || len(salts[0]) != entry.SaltSize {
		t.Errorf("the salts of the reader are %x", salts)
	}
}

// A repeat has the salt of what it repeats: so those who do not have it see that it is one.
func TestAdopt_keepsTheSalt(t *testing.T) {
	root := newPeer(t, nil)
	guest := newGuest(t, root)
	root.grant(guest, Write, In("tasks"))
	meet(t, root, guest)
	guest.put(task{ID: 1})
	root.revoke(guest)
	meet(t, guest, root)
	if done := root.adopt(guest); done.Entries != 1 {
		t.Fatalf("adopted %+v", done)
	}
	theirs, own := guest.salts(), root.salts()
	if len(own) != 1 || len(own[0]) != entry.SaltSize || !bytes.Equal(own[0], theirs[0]) {
		t.Errorf("the salts are %x and %x", theirs, own)
	}
}
