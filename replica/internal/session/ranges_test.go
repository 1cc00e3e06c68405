package session

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

// catalog is a replica of many logs, of which it knows only the ends: the number of a log and of
// its entries are all there is to it.
type catalog struct {
	*memory
	n       int
	nexts   map[uint32]uint64 // of logs that do not have one entry
	times   map[uint32]uint64 // of the same
	absent  map[uint32]bool   // logs that are not here
	applied int
	ends    *Ends
	guard   sync.Mutex // of what changes: a session reads while it merges
}

func newCatalog(device byte, n int) *catalog {
	m := newMemory(1, device)
	_ = m.Seal()
	return &catalog{memory: m, n: n, nexts: map[uint32]uint64{}, times: map[uint32]uint64{},
		absent: map[uint32]bool{}}
}

// grow appends an entry to a log, at a time.
func (c *catalog) grow(log uint32, at uint64) {
	c.nexts[log], c.times[log], c.ends = cmp.Or(c.nexts[log], 1)+1, at, nil
}

func catalogID(log uint32) (id [32]byte) {
	sum := sha256.Sum256(binary.BigEndian.AppendUint32(nil, log))
	binary.BigEndian.PutUint32(sum[:], log)
	return sum
}

func (c *catalog) hash(log uint32, next uint64) [32]byte {
	p := binary.BigEndian.AppendUint32(nil, log)
	return sha256.Sum256(binary.BigEndian.AppendUint64(p, next))
}

func (c *catalog) position() Position {
	return Position{Arrival: uint64(c.n), Token: Token{Batch: uint64(c.n), Digest: c.name}}
}

func (c *catalog) Position() (Position, bool, error) { return c.position(), true, nil }

func (c *catalog) Resume(t Token) (uint64, bool, error) {
	return uint64(c.n), t.Digest == c.name, nil
}

func (c *catalog) News(uint64) ([]News, Position, bool) { return nil, c.position(), true }

func (c *catalog) Changed() <-chan struct{} { return nil }

func (c *catalog) Ends() (*Ends, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	if c.ends != nil {
		return c.ends, nil
	}
	e := &Ends{Position: c.position()}
	for i := range uint32(c.n) {
		if c.absent[i] {
			continue
		}
		id := catalogID(i)
		next, at := cmp.Or(c.nexts[i], 1), cmp.Or(c.times[i], uint64(i)<<20+1)
		e.All = append(e.All, End{at, Head{Log: [prefixSize]byte(id[:]), Number: i, Next: next,
			Hash: c.hash(i, next)}})
	}
	Sort(e.All)
	c.ends = e
	return e, nil
}

func (c *catalog) Latest() (uint64, error) {
	e, err := c.Ends()
	return e.All[len(e.All)-1].Time, err
}

func (c *catalog) Announce(after uint64, most int) ([]Head, Position, bool, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	var heads []Head
	for i := after; i < uint64(c.n); i++ {
		if len(heads) == most {
			return heads, Position{Arrival: i}, true, nil
		}
		if c.absent[uint32(i)] {
			continue
		}
		id, next := catalogID(uint32(i)), cmp.Or(c.nexts[uint32(i)], 1)
		heads = append(heads, Head{Log: [prefixSize]byte(id[:]), Number: uint32(i), Next: next,
			Hash: c.hash(uint32(i), next)})
	}
	return heads, c.position(), false, nil
}

func (c *catalog) Find(heads []Head) ([]Log, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	found := make([]Log, len(heads))
	for i := range heads {
		n := binary.BigEndian.Uint32(heads[i].Log[:])
		if n >= uint32(c.n) || c.absent[n] {
			continue
		}
		next := cmp.Or(c.nexts[n], 1)
		found[i] = Log{Number: n, ID: catalogID(n), Next: next, Sealed: next}
		if heads[i].Next <= next {
			found[i].Hash = c.hash(n, heads[i].Next)
		}
	}
	return found, nil
}

func (c *catalog) Run(log uint32, first uint64, _ *Reader) (*Run, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	r := &Run{Log: catalogID(log), First: first}
	if first > 0 {
		r.Prev = c.hash(log, first)
	}
	for range cmp.Or(c.nexts[log], 1) - first {
		r.Entries = append(r.Entries, binary.BigEndian.AppendUint64(nil, c.times[log]))
	}
	return r, nil
}

func (c *catalog) Apply(_ uint64, runs []*Run) ([]Refusal, error) {
	c.guard.Lock()
	defer c.guard.Unlock()
	for _, r := range runs {
		log := binary.BigEndian.Uint32(r.Log[:])
		if delete(c.absent, log); r.End() > 1 {
			c.nexts[log], c.times[log] = r.End(), binary.BigEndian.Uint64(r.Entries[0])
		}
		c.ends = nil
		c.applied++
	}
	return nil, nil
}

// differ returns two catalogs of n logs. In the first, k of them have grown since: those grew last,
// unless they may be anywhere.
func differ(n, k int, anywhere bool, r *rand.Rand) (a, b *catalog) {
	a, b = newCatalog(1, n), newCatalog(2, n)
	for i := range k {
		log, at := uint32(r.IntN(n)), uint64(n+i)<<20
		if anywhere {
			at = r.Uint64N(uint64(n) << 20)
		}
		a.grow(log, at)
	}
	return a, b
}

// compareAll has a session of two catalogs, and returns what it cost besides runs.
func compareAll(t testing.TB, a, b *catalog) *cost {
	t.Helper()
	one, other := config(a.memory), config(b.memory)
	one.Spaces, other.Spaces = []Space{a}, []Space{b}
	c := measureOf(t, one, other)
	if !maps.Equal(a.nexts, b.nexts) || len(a.absent)+len(b.absent) > 0 {
		t.Fatalf("%d logs differ, %d do; %d and %d are missing", len(a.nexts), len(b.nexts),
			len(a.absent), len(b.absent))
	}
	return c
}

// ranges is the bytes of what tells in which logs replicas differ.
func (c *cost) ranges() (n int) {
	for _, k := range []kind{frameToken, frameHeads, frameWant, frameRanges, frameOpen, frameMark,
		frameAck} {
		n += c.bytes[k] + c.bytes[packedIn+k]
	}
	return n
}

// Without a token, what replicas tell each other follows from what differs.
func TestRanges_costWhatDiffers(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 10_000
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, k := range []int{0, 1, 10, 64, 100, 1000} {
		a, b := differ(n, k, false, r)
		c := compareAll(t, a, b)
		for i := 0; i < 20 && k <= tail && c.trips > 5; i++ { // a goroutine may have run late
			a, b = differ(n, k, false, r)
			c = compareAll(t, a, b)
		}
		t.Logf("%d of %d: %d B, %s", k, n, c.ranges(), c)
		if c.ranges() > 2048+160*k || k <= tail && c.trips > 5 {
			t.Errorf("%d of %d logs: %d B, %s", k, n, c.ranges(), c)
		}
	}
}

// Wherever and whatever logs differ, ranges find them all, in few rounds.
func TestRanges_findEverything(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	for range 30 {
		n := 1 + r.IntN(3000)
		a, b := differ(n, r.IntN(1+r.IntN(n)), r.IntN(4) > 0, r)
		for range r.IntN(2) * r.IntN(1+r.IntN(n)) { // the other one has news, too
			switch log := uint32(r.IntN(n)); {
			case a.nexts[log] > 0:
			case r.IntN(2) == 0:
				b.grow(log, r.Uint64N(uint64(n)<<21))
			case b.nexts[log] == 0 && len(a.absent) < n/2:
				a.absent[log], a.ends = true, nil
			}
		}
		if r.IntN(4) == 0 { // all at one time
			for i := range uint32(n) {
				a.times[i], b.times[i] = 7, 7
			}
		}
		compareAll(t, a, b)
	}
	for _, k := range []int{1, 10, 100} {
		a, b := differ(20_000, k, true, r)
		c := compareAll(t, a, b)
		t.Logf("%d of 20,000 anywhere: %d B, %s", k, c.ranges(), c)
	}
}

// Ranges are equal only if the ends in them are: fingerprints depend on nonces of both sides.
func TestAttack12_endsChosenToLookEqual(t *testing.T) {
	e, _ := newCatalog(1, 100).Ends()
	other := slices.Clone(e.All)
	other[50].Hash[0] ^= 1
	seen := map[fingerprint]bool{}
	for i := range byte(8) {
		s := &Session{}
		s.own.nonce[0], s.theirs.nonce[0] = i%4, 4+i/4
		peer := &Session{own: s.theirs, theirs: s.own}
		if s.fingerprintOf(e.All, nil) != peer.fingerprintOf(e.All, nil) {
			t.Fatal("the sides do not agree")
		}
		seen[s.fingerprintOf(e.All, nil)], seen[s.fingerprintOf(other, nil)] = true, true
	}
	if len(seen) != 16 {
		t.Errorf("%d of 16 fingerprints", len(seen))
	}
}

// A peer that lies in ranges is found out when it does, or its lies come to an end.
func TestAttack13_rangesThatLie(t *testing.T) {
	one := func(time, count uint64) span { return span{end: bound{time: time}, count: count} }
	for name, c := range map[string]struct {
		rounds [][]span
		ends   bool // the session, because of them
	}{
		"overlapping":          {[][]span{{one(9, 40), one(9, 40)}}, true},
		"descending parts":     {[][]span{{one(9, 800)}, {one(5, 50), one(4, 50)}}, true},
		"parts beyond":         {[][]span{{one(9, 32)}, {one(10, 2)}}, true},
		"parts of the same":    {[][]span{{one(9, 800)}, {one(9, 800)}}, true},
		"parts that are less":  {[][]span{{one(9, 800)}, {one(8, 50)}}, true},
		"parts of none":        {[][]span{{one(9, 20)}, {one(8, 10), one(9, 10)}}, true},
		"more than was opened": {[][]span{{one(9, 40)}, slices.Repeat([]span{one(9, 3)}, 20)}, true},
		"empty rounds":         {[][]span{{}, {}}, true},
	} {
		victim := newCatalog(1, 300)
		config := config(victim.memory)
		config.Spaces = []Space{victim}
		err := attack(t, config, func(a *attacker) {
			a.greet()
			a.write(frameToken, (&reach{few: true}).append(nil))
			for _, round := range c.rounds {
				sent := spans{last: true, all: round}
				a.write(frameRanges, sent.append(nil))
				for k := kind(0); k != frameOpen; {
					var err error
					if k, _, err = readFrame(a.in, func() {}); err != nil || k == frameBye {
						return
					}
				}
			}
			go a.drop()
			a.write(frameBye, (&bye{failed: true}).append(nil))
		})
		if errors.Is(err, ErrPeer) != c.ends {
			t.Errorf("%s: %v", name, err)
		}
	}
}
