package replica

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// errRead ends a transaction of a test without a commit.
var errRead = errors.New("the transaction was for reading")

// Entries come back as they arrived, with their hashes, whatever they contain and in whatever order
// they are read.
func TestEntry_isKeptAsItArrived(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	p := newPeer(t, nil)
	other := newForger(p)
	f := newForger(p)
	f.seq, f.prev, f.log, f.run = 0, entry.Hash{}, entry.Hash{}, &run{}
	f.add((&entry.Genesis{Device: [32]byte(f.key[32:]), Incarnation: [16]byte{1}}).Entry(1))
	var hashes []entry.Hash
	runs := []*run{f.begin()}
	for ms := 1; ms < 200; ms++ {
		other.add(data(ms, "other"))
		e := data(ms+1, strings.Repeat("x", rng.IntN(40)<<rng.IntN(10)))
		switch rng.IntN(5) {
		case 0:
			e.Context = []entry.Head{{Log: other.log, Seq: other.seq - 1}}
			e.Digest = entry.ContextDigest([]entry.Hash{other.prev})
		case 1:
			e.Parts = append(e.Parts, entry.Part{Group: "zebras", Data: e.Parts[0].Data})
		case 2:
			e.Context = []entry.Head{{Log: other.log, Seq: other.seq - 1}}
			e.Digest = entry.ContextDigest([]entry.Hash{other.prev})
			e.Kind, e.Parts = entry.KindContext, nil
		}
		f.add(e)
		hashes, runs = append(hashes, f.prev), append(runs, f.begin())
	}
	if err := p.space.apply(append(runs, other.run)); err != nil {
		t.Fatal(err)
	}
	err := p.db.View(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		log, _, err := n.logNumber(f.log)
		for range 2000 {
			seq := 1 + rng.Uint64N(uint64(len(hashes)))
			hash, failed := n.hashOf(log, seq)
			sent, also := n.sent(log, seq)
			if err = errors.Join(err, failed, also); err != nil {
				return err
			}
			if hash != hashes[seq-1] || !bytes.Equal(sent, runs[seq].entries[0]) {
				t.Fatalf("seed %d: entry %d is another one", seed, seq)
			}
		}
		return err
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
}

// An entry without a context takes at most 16 bytes besides its changes.
func TestEntry_isKeptShort(t *testing.T) {
	p := newPeer(t, nil)
	for i := range int64(200) {
		p.put(task{ID: i, Title: "title"})
	}
	changes := 0
	for _, f := range factsOf(p) {
		for _, part := range f.Entry.Parts {
			changes += len(part.Data)
		}
	}
	kept := 0
	err := p.db.View(func(tx *stoat.Tx) error {
		n, err := p.space.in(tx)
		if err != nil {
			return err
		}
		for _, value := range n.entries.Scan(stoat.Range{}) {
			kept += len(value)
		}
		return tx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if more := (kept - changes) / 200; more > 16 {
		t.Errorf("%d bytes an entry", more)
	}
}

// A damaged entry is an error.
func TestEntry_thatIsDamagedIsCorrupt(t *testing.T) {
	for name, value := range map[string][]byte{
		"empty":                        {},
		"no hash":                      {keptHash, 1, 2},
		"no time":                      {keptCompact, 1, 2, 3},
		"no collection":                {keptCompact, 1, 2, 3, 4, 5, 6, 7, 8, 0x80},
		"a collection that is missing": {keptCompact, 1, 2, 3, 4, 5, 6, 7, 8, 99, 1},
		"another version":              {0, 99, 2, 3, 4, 5, 6, 7, 8, 9, 0},
	} {
		p := newPeer(t, nil)
		p.put(task{ID: 1})
		p.put(task{ID: 2})
		err := p.db.Update(func(tx *stoat.Tx) error {
			n, err := p.space.in(tx)
			if err != nil {
				return err
			}
			own, err := n.ownHead()
			if err == nil {
				err = n.entries.Put(entryKey(nil, "", own.number, 1), value)
			}
			if err != nil {
				return err
			}
			_, err = n.entry(own.number, 1)
			_, also := n.hashOf(own.number, 1)
			_, sent := n.sent(own.number, 1)
			for _, err := range []error{err, also, sent} {
				if name != "another version" && !errors.Is(err, stoat.ErrCorrupt) {
					t.Errorf("%s: got %v", name, err)
				}
			}
			if !errors.Is(err, stoat.ErrCorrupt) {
				t.Errorf("%s: got %v", name, err)
			}
			return errRead
		})
		if !errors.Is(err, errRead) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
