package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// noon is the time of tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// task has a field of every rule.
type task struct {
	ID     int64            `stoat:"id,key"`
	Title  string           `stoat:"title,index"`
	Note   string           `stoat:"note,merge=keep"`
	Done   bool             `stoat:"done"`
	Votes  int32            `stoat:"votes,merge=sum"`
	Best   int64            `stoat:"best,merge=max"`
	First  int64            `stoat:"first,merge=min"`
	Tags   []string         `stoat:"tags,merge=set,index"`
	Prices map[string]int64 `stoat:"prices,merge=set"`
}

// peer is a replica in a test.
type peer struct {
	t     testing.TB
	db    *stoat.DB
	space *Space
	tasks *record.Collection[task]
	now   time.Time

	seed   [32]byte // of the device and of random numbers
	joined int      // how many have joined it
	branch uint64   // of the database
	copies byte     // how many times it was copied, in the copy
	family *byte    // copies of all replicas of the space; nil: none

	forget func() // keeps the end of the test from closing the database; may be nil
}

// options returns options for the replica, whose keys and logs are the same in each run.
func (p *peer) options() *Options {
	p.t.Helper()
	device := testDevice(p.seed)
	random := p.seed
	random[31] = p.copies                    // logs of copies are others
	budget := []int{0, 1, 1000}[p.seed[1]%3] // replicas merge together what they can, nothing, a few
	return &Options{Device: device, Now: func() time.Time { return p.now },
		random: rand.NewChaCha8(random), branch: p.branch, deferredMax: budget}
}

// testDevices has the devices that testDevice has returned: a key takes long to compute.
var testDevices sync.Map // of *Device, by their seeds

// testDevice returns the device with a secret key.
func testDevice(seed [32]byte) *Device {
	if device, ok := testDevices.Load(seed); ok {
		return device.(*Device)
	}
	device, err := LoadDevice(seed[:])
	if err != nil {
		panic(err) // no: the seed has the right size
	}
	testDevices.Store(seed, device)
	return device
}

// testRoots returns the roots of a space in a test: the first replica, the next ones that join it,
// and forgers. Others need a grant: see peer.allow.
func testRoots() (all []DeviceID) {
	for _, seed := range [][32]byte{{}, {1}, {1, 0, 0, 0, 0, 1}, {77}} {
		all = append(all, testDevice(seed).ID())
	}
	for i := range byte(rootsOfTests) {
		all = append(all, testDevice([32]byte{2, i + 1}).ID())
	}
	return all
}

// rootsOfTests is how many of the replicas that join another one are roots.
const rootsOfTests = 28

// described returns the description of the space.
func (p *peer) described() (described []byte) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		d, err := p.space.description(tx)
		described = append(described, d...)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return described
}

// about returns the parsed description of the space.
func (p *peer) about() *entry.Space {
	p.t.Helper()
	about, err := entry.ParseSpace(p.described())
	if err != nil {
		p.t.Fatal(err)
	}
	return about
}

// newPeer makes a replica: of a new space, or of the one of another.
func newPeer(t testing.TB, of *peer) *peer {
	t.Helper()
	return newPeerOf(t, of, testRoots(), 1)
}

// newPeerOf is newPeer with the roots and the quorum of a new space.
func newPeerOf(t testing.TB, of *peer, roots []DeviceID, quorum int) *peer {
	t.Helper()
	p := &peer{t: t, now: noon, seed: [32]byte{1}, branch: 1}
	if of == nil {
		p.family = new(byte)
	} else {
		p.family = of.family
		of.joined++
		p.seed = [32]byte{2, byte(of.joined), byte(of.joined >> 8)}
	}
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	p.db = db
	t.Cleanup(func() {
		if db != nil {
			_ = db.Close()
		}
	})
	p.forget = func() { db = nil }
	opts := p.options()
	if of == nil {
		opts.Roots, opts.Quorum = roots, quorum
		p.space, err = Create(db, "team", opts)
	} else if p.space, err = Join(db, "team", of.space.ID(), opts); err == nil {
		err = p.space.describe(of.described())
	}
	if err != nil {
		t.Fatal(err)
	}
	p.open()
	return p
}

// close closes the database of a replica, and leaves nothing of it in memory: some tests make
// thousands.
func (p *peer) close() {
	must(p.t, p.db.Close())
	if p.forget != nil {
		p.forget()
	}
	*p = peer{}
}

// open opens the collection of tasks.
func (p *peer) open() {
	p.t.Helper()
	var err error
	if p.tasks, err = Collection[task](p.space, "tasks", nil); err != nil {
		p.t.Fatal(err)
	}
}

// update runs a transaction.
func (p *peer) update(fn func(tx *stoat.Tx) error) {
	p.t.Helper()
	if err := p.db.Update(fn); err != nil {
		p.t.Fatal(err)
	}
}

// put stores a task.
func (p *peer) put(v task) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error { return p.tasks.Put(tx, &v) })
}

// edit changes the task with the key 1.
func (p *peer) edit(fn func(*task)) {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error {
		return p.tasks.Update(tx, 1, func(v *task) error { fn(v); return nil })
	})
}

// allow lets every device write.
func (p *peer) allow() {
	p.t.Helper()
	p.update(func(tx *stoat.Tx) error { return p.space.Grant(tx, Anyone, Write) })
}

// get returns a task, or nil.
func (p *peer) get(id int64) (v *task) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		v, err = p.tasks.Get(tx, id)
		return err
	})
	if err != nil {
		return nil
	}
	return v
}

// root returns the root of the state.
func (p *peer) root() (root [32]byte) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		if err := p.checkRights(tx); err != nil {
			return err
		}
		root, err = p.space.Root(tx)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return root
}

// meet exchanges the entries of two replicas.
func meet(t testing.TB, a, b *peer) {
	t.Helper()
	if err := meeting(a, b); err != nil {
		t.Error(err)
	}
}

// givesToAll is an endpoint that gives to every device, as files do.
type givesToAll struct{ endpoint }

func (givesToAll) MayRead([32]byte) (reason, err error) { return nil, nil }

func (g givesToAll) Run(log uint32, first uint64, _ *session.Reader) (*session.Run, error) {
	return g.endpoint.Run(log, first, nil)
}

// meeting exchanges the entries of two replicas, also of those that may not read, and returns the
// errors of both.
func meeting(a, b *peer) error {
	x, y := net.Pipe()
	ctx := context.Background()
	sync := func(p, with *peer, conn net.Conn) error {
		config := &session.Config{Spaces: []session.Space{givesToAll{endpoint{p.space}}}}
		return p.unlessAhead(with, wrap(p.space.name, runSession(ctx, config, conn, once)))
	}
	done := make(chan error, 1)
	go func() { done <- sync(b, a, y) }()
	err := sync(a, b, x)
	return errors.Join(err, <-done)
}

// unlessAhead returns the error of a session with another replica, unless it says that what this
// one wrote waits there, and it does: the session ended well then.
func (p *peer) unlessAhead(with *peer, err error) error {
	if !errors.Is(err, ErrAhead) {
		return err
	}
	ahead := time.Duration(0)
	failed := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err == nil {
			ahead, err = t.ahead(with.now)
		}
		return err
	})
	if failed != nil || ahead == 0 {
		return errors.Join(err, failed)
	}
	return nil
}

// agree fails the test unless replicas have the same state.
func agree(t testing.TB, peers ...*peer) {
	t.Helper()
	for _, p := range peers[1:] {
		if p.root() != peers[0].root() {
			t.Error("replicas differ")
		}
	}
}

// ownLog returns the number of the log that the replica writes.
func (p *peer) ownLog() (n uint32) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err == nil {
			n, err = t.ownNumber()
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

// once ends a session when both sides have everything.
var once = &SyncOptions{Once: true}

// cutOf returns where a log is cut, or 0.
func (p *peer) cutOf(log entry.Hash) (cut uint64) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) error {
		t, err := p.space.in(tx)
		if err != nil {
			return err
		}
		number, known, err := t.logNumber(log)
		if err != nil || !known {
			return err
		}
		h, err := t.head(number)
		if err == nil {
			cut = h.cut
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return cut
}

// sealedHeads returns the heads of all logs, each as it was behind its last sealed entry.
func (t *txn) sealedHeads() ([]*head, error) {
	var all []*head
	for key, p := range t.meta.Scan(stoat.Prefix([]byte(prefixLog))) {
		h, err := parseHead(binary.BigEndian.Uint32(key[len(prefixLog):]), p)
		if err != nil {
			return nil, err
		}
		if h.sealed == 0 {
			continue
		}
		if h.next != h.sealed {
			h.next = h.sealed
			if h.hash, err = t.hashOf(h.number, h.sealed-1); err != nil {
				return nil, err
			}
		}
		all = append(all, h)
	}
	return all, t.tx.Err()
}

// waiting returns what waits.
func (p *peer) waiting() (all []Waiting) {
	p.t.Helper()
	err := p.db.View(func(tx *stoat.Tx) (err error) {
		all, err = p.space.Waiting(tx)
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return all
}
