package replica

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"errors"
	"fmt"
	"testing"

	"filippo.io/edwards25519"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/tuple"
)

// The names of attack tests have the numbers of the list in docs/design/replica.md.

// newStranger starts a log of a device that is no root, and has no grant.
func newStranger(p *peer, n byte) *forger {
	f := &forger{key: ed25519.NewKeyFromSeed(append(make([]byte, 31), 100+n)), space: p.space.id,
		run: &run{}}
	g := entry.Genesis{Device: f.device()}
	f.add(g.Entry(hlc.At(noon)))
	return f
}

// device returns the key of the forger's device.
func (f *forger) device() DeviceID { return DeviceID(f.key[32:]) }

// seeing gives an entry a context: the own log of a replica.
func seeing(t testing.TB, e *entry.Entry, p *peer) *entry.Entry {
	t.Helper()
	p.inTx(func(x *txn) error {
		h, err := x.ownHead()
		if err != nil {
			return err
		}
		e.Context = []entry.Head{{Log: h.id, Seq: h.next - 1}}
		e.Digest = entry.ContextDigest([]entry.Hash{h.hash})
		return nil
	})
	return e
}

// refuse fails the test unless a replica refuses a run and stays as it is.
func (p *peer) refuse(r *run) {
	p.t.Helper()
	root, facts := p.root(), len(factsOf(p))
	if err := p.space.apply([]*run{r}); !errors.Is(err, ErrInvalid) {
		p.t.Errorf("got %v", err)
	}
	if p.root() != root || len(factsOf(p)) != facts || len(p.waiting()) > 0 {
		p.t.Error("something was stored")
	}
}

// An entry in the name of another device, or in another device's log.
func TestAttack01_anotherName(t *testing.T) {
	t.Run("the log claims a device whose key the forger lacks", func(t *testing.T) {
		p := newPeer(t, nil)
		f := &forger{key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32)), space: p.space.id,
			run: &run{}}
		g := entry.Genesis{Device: p.space.device.ID(), Incarnation: [16]byte{1}}
		f.add(g.Entry(hlc.At(noon)))
		f.add(data(1, "forged"))
		p.refuse(f.run)
	})
	t.Run("the log is another device's", func(t *testing.T) {
		p := newPeer(t, nil)
		f := newForger(p)
		f.add(data(1, "a"))
		if err := p.space.apply([]*run{f.run}); err != nil {
			t.Fatal(err)
		}
		f.key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
		f.run = &run{log: f.log, first: f.seq}
		f.add(data(2, "forged"))
		p.refuse(f.run)
	})
}

// Every single bit of a run, flipped.
func TestAttack02_flippedBits(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 2})
	f := newForger(p)
	f.add(seeing(t, data(1, "a"), p))
	entries := f.run.entries
	for i := range entries {
		for at := range entries[i] {
			for bit := range 8 {
				forged := *f.run
				forged.entries = append([][]byte{}, entries...)
				forged.entries[i] = bytes.Clone(entries[i])
				forged.entries[i][at] ^= 1 << bit
				err := p.space.apply([]*run{&forged})
				if !errors.Is(err, ErrInvalid) && len(p.waiting()) == 0 {
					t.Fatalf("bit %d of byte %d of entry %d: %v", bit, at, i, err)
				}
				p.space.room = room{now: p.space.now} // what seems to need a newer version waits
			}
		}
	}
	for at := range f.run.seal {
		forged := *f.run
		forged.seal[at] ^= 1
		p.refuse(&forged)
	}
	if len(factsOf(p)) != 2 {
		t.Error("something was stored")
	}
	p.take(f.begin())
	f.add(data(2, "b"))
	f.run.seal[0] ^= 1
	p.refuse(f.run)
}

// A sealed entry taken to another space, log or seq, or passed off as one of another kind.
func TestAttack03_anotherPlace(t *testing.T) {
	p := newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	if err := p.space.apply([]*run{f.run}); err != nil {
		t.Fatal(err)
	}
	f.add(data(2, "b"))
	sealed := run{log: f.log, first: 2, entries: f.run.entries[2:], seal: f.run.seal}
	other := newForger(p)
	other.seq, other.run = 0, &run{}
	g := entry.Genesis{Device: other.device(), Incarnation: [16]byte{7}}
	other.log, other.prev = entry.Hash{}, entry.Hash{}
	other.add(g.Entry(hlc.At(noon)))
	other.add(data(1, "a"))
	if err := p.space.apply([]*run{other.run}); err != nil {
		t.Fatal(err)
	}
	for name, move := range map[string]func(r *run){
		"another log": func(r *run) { r.log = other.log },
		"another seq": func(r *run) { r.first = 1 },
		"another kind": func(r *run) {
			e, err := entry.Parse(r.entries[0])
			if err != nil {
				t.Fatal(err)
			}
			e.Kind = entry.KindControl
			r.entries = [][]byte{e.Append(nil)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			forged := sealed
			move(&forged)
			root := p.root()
			err := p.space.apply([]*run{&forged})
			if !errors.Is(err, ErrInvalid) || p.root() != root {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("another space", func(t *testing.T) {
		q := newPeer(t, nil)
		q.space.id[0] ^= 1
		q.refuse(f.run)
	})
	if err := p.space.apply([]*run{&sealed}); err != nil {
		t.Errorf("in its place: %v", err)
	}
}

// A second signature of the same entry is another signature, and not another entry.
func TestAttack21_malleableSeals(t *testing.T) {
	p, q := newPeer(t, nil), newPeer(t, nil)
	f := newForger(p)
	f.add(data(1, "a"))
	again := *f.run // before it is proven
	message := entry.AppendSealed(nil, &f.space, &f.log, 1, &f.prev)
	again.seal = signWith(t, f.key, message, 7)
	if again.seal == f.run.seal {
		t.Fatal("it is the same signature")
	}
	if err := errors.Join(p.space.apply([]*run{f.run}), q.space.apply([]*run{&again}),
		p.space.apply([]*run{&again}), q.space.apply([]*run{f.run})); err != nil {
		t.Fatal(err)
	}
	agree(t, p, q)
	if len(factsOf(p)) != 3 || len(factsOf(q)) != 3 {
		t.Error("it became another entry")
	}
	forged := *f.run
	forged.seal, forged.proven = addOrder(forged.seal), entry.Hash{}
	newPeer(t, nil).refuse(&forged)
}

// signWith signs with a nonce of its own choice.
func signWith(t *testing.T, key ed25519.PrivateKey, message []byte, nonce byte) (sig [64]byte) {
	t.Helper()
	wide := sha512.Sum512(key.Seed())
	a, err := edwards25519.NewScalar().SetBytesWithClamping(wide[:32])
	if err != nil {
		t.Fatal(err)
	}
	r, err := edwards25519.NewScalar().SetUniformBytes(bytes.Repeat([]byte{nonce}, 64))
	if err != nil {
		t.Fatal(err)
	}
	point := new(edwards25519.Point).ScalarBaseMult(r).Bytes()
	sum := sha512.Sum512(append(append(bytes.Clone(point), key[32:]...), message...))
	k, err := edwards25519.NewScalar().SetUniformBytes(sum[:])
	if err != nil {
		t.Fatal(err)
	}
	copy(sig[:], point)
	copy(sig[32:], edwards25519.NewScalar().MultiplyAdd(k, a, r).Bytes())
	return sig
}

// addOrder adds the order of the group to the S of a signature.
func addOrder(sig [64]byte) [64]byte {
	order := []byte{0xED, 0xD3, 0xF5, 0x5C, 0x1A, 0x63, 0x12, 0x58, 0xD6, 0x9C, 0xF7, 0xA2, 0xDE,
		0xF9, 0xDE, 0x14, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10}
	carry := 0
	for i, b := range order {
		sum := int(sig[32+i]) + int(b) + carry
		sig[32+i], carry = byte(sum), sum>>8
	}
	return sig
}

// Operations of kinds that do not exist, fields that change their rule, and values that nest for
// ever.
func TestAttack22_unknownRules(t *testing.T) {
	p := newPeer(t, nil)
	p.put(task{ID: 1, Title: "a"})
	f := newForger(p)
	f.add(edit(1, []string{"title"}, entry.Op{Kind: entry.OpSum, Delta: 7}))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1).Title != "a" {
		t.Errorf("another rule is another field: %v, %+v", err, p.get(1))
	}
	f.run = &run{log: f.log, first: f.seq}
	deep := bytes.Repeat([]byte{0x40, 1}, 40)
	f.add(edit(2, []string{"title"}, entry.Op{Kind: entry.OpSet, Value: append(deep, 0x40, 0)}))
	if err := p.space.apply([]*run{f.run}); err != nil || p.get(1).Title != "a" {
		t.Errorf("what nests for ever is void: %v, %+v", err, p.get(1))
	}

	g := p.otherForger(8)
	unknown := []byte{1, 1, 'a', 1, 2}
	unknown = append(append(unknown, tuple.AppendInt(nil, 1)...), 0, 1, 0, 9, 0)
	e := data(1, "")
	e.Parts[0].Data = unknown
	g.add(e)
	root := p.root()
	if err := p.space.apply([]*run{g.run}); err != nil || p.root() != root {
		t.Errorf("got %v", err)
	}
	if w := p.waiting(); len(w) != 1 || !errors.Is(w[0].Reason, ErrNewer) {
		t.Errorf("got %v", w)
	}
}

// Sets as large as an entry can make them, with concurrent additions and removals of everything, in
// both orders; and one that is larger than the space allows.
func TestAttack23_hugeSets(t *testing.T) {
	p := newPeer(t, nil)
	q := newPeer(t, p)
	p.put(task{ID: 1, Title: "a"})
	meet(t, p, q)
	set := func(ms int, from, n int64, removed bool) *entry.Entry {
		op := entry.Op{Kind: entry.OpElements}
		for i := range n {
			item := entry.Item{Key: tuple.AppendString(nil, fmt.Sprintf("%07d", from+i))}
			if removed {
				op.Removed = append(op.Removed, item)
			} else {
				op.Added = append(op.Added, item)
			}
		}
		return edit(ms, []string{"tags"}, op)
	}
	const n = 40_000
	f, g := newForger(p), newForger(p)
	g.key = ed25519.NewKeyFromSeed(append([]byte{77}, make([]byte, 31)...))
	g.seq, g.log, g.prev, g.run = 0, entry.Hash{}, entry.Hash{}, &run{}
	genesis := entry.Genesis{Device: g.device()}
	g.add(genesis.Entry(hlc.At(noon)))
	f.add(set(1, 0, n, false))
	g.add(set(1, n/2, n, false))
	added := f.begin()        // which is as long as a run may be
	f.add(set(2, 0, n, true)) // has not seen what g added
	both := []*run{added, f.run}
	must(t, errors.Join(p.space.apply(both), p.space.apply([]*run{g.run})))
	must(t, errors.Join(q.space.apply([]*run{g.run}), q.space.apply(both)))
	agree(t, p, q)
	if got := len(p.get(1).Tags); got != n {
		t.Errorf("%d of %d elements are left", got, n)
	}
	h := newForger(p)
	h.add(set(1, 0, 300_000, false)) // beyond EntryMax
	r := newPeer(t, p)
	if err := r.space.apply([]*run{h.run}); err == nil && len(r.waiting()) == 0 || r.get(1) != nil {
		t.Errorf("an entry that is too large: %v", err)
	}
}

// Entries of a version that does not exist yet: nothing of their run is stored, what comes before
// and what others write is merged, and the error says that an update is needed.
func TestAttack22_unknownVersions(t *testing.T) {
	p := newPeer(t, nil)
	p.allow()
	f := newForger(p)
	f.add(data(1, "known"))
	p.take(f.begin())
	f.add(data(2, "newer"))
	for _, version := range []byte{0, entry.Version + 1, 255} {
		f.run.entries[0][0] = version
		if err := p.space.apply([]*run{f.run}); err != nil && !errors.Is(err, ErrNewer) {
			t.Errorf("version %d: %v", version, err)
		}
		if n, title := p.entriesOf(f), p.get(1).Title; n != 2 || title != "known" {
			t.Errorf("version %d: %d entries are here, and the title is %q", version, n, title)
		}
	}
	f.run.entries[0][0] = entry.Version // after the update
	p.take(f.run)
	if title := p.get(1).Title; title != "newer" {
		t.Errorf("the title is %q", title)
	}
}
