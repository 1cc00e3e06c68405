package stress

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"regexp"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/replica"
)

// world is some replicas of a space, and what goes on between them.
type world struct {
	t       *testing.T
	root    string
	trusted bool
	forks   bool // folders are copied; else there are checkpoints
	guest   replica.DeviceID
	items   atomic.Uint64 // the number of the last item

	mu       sync.RWMutex
	members  []*member // the first one founds the space, and is never pruned
	settling bool
	olds     []*life // that another writer has fenced

	group  sync.WaitGroup
	counts sync.Map // what was seen → *atomic.Int64
	ctx    context.Context
	stop   context.CancelFunc
}

var digits = regexp.MustCompile(`[0-9a-f]{8,}|[0-9]+`)

// seen counts what happened.
func (w *world) seen(what string) {
	n, _ := w.counts.LoadOrStore(digits.ReplaceAllString(what, "#"), new(atomic.Int64))
	n.(*atomic.Int64).Add(1)
}

// failed fails the test unless an error is nil.
func (w *world) failed(err error, format string, args ...any) bool {
	if err == nil {
		return false
	}
	w.t.Errorf("%s: %v", fmt.Sprintf(format, args...), err)
	w.stop()
	return true
}

func newWorld(t *testing.T, rng *rand.Rand) *world {
	w := &world{t: t, root: t.TempDir(), trusted: rng.IntN(2) == 0, forks: rng.IntN(8) == 0}
	w.ctx, w.stop = context.WithCancel(context.Background())
	founder := w.add("founder", 0, nil)
	founder.writes = true
	founder.opts.Trusted = w.trusted
	w.begin(founder, nil, nil)
	server := w.add("server", replica.Admin|replica.Checkpoint|replica.Invite, nil)
	server.prunes = true
	server.writes = true
	phone := w.add("phone", replica.Write, []string{"items"})
	phone.writes = true
	if rng.IntN(2) == 0 {
		cloud := w.add("cloud", replica.Write, nil)
		cloud.store, cloud.writes, cloud.prunes = memstore.New(), true, rng.IntN(2) == 0
	}
	if !w.trusted {
		switch rng.IntN(3) {
		case 0:
			guest := w.add("guest", replica.Write, nil)
			guest.writes, w.guest = true, guest.device.ID()
		case 1:
			w.add("relay", replica.Relay, nil)
		}
	} else {
		visitor := w.add("visitor", replica.Write, nil)
		visitor.prunes, visitor.reads = true, true
	}
	id := founder.life.Load().space.ID()
	for _, m := range w.members[1:] {
		m.id = &id
		w.begin(m, nil, nil)
	}
	w.grant()
	all := w.members
	if rng.IntN(2) == 0 {
		w.members = all[:2] // the others are late
	}
	w.together(2) // or two could make checkpoints without knowing of each other
	for _, m := range w.members {
		if m.right == 0 || m.right&replica.Write == replica.Write {
			w.failed(w.addItem(m.life.Load(), rng), "a first item")
		}
	}
	w.together(2)
	w.members = all
	return w
}

// together has sessions of all pairs, some times.
func (w *world) together(times int) {
	for range times {
		for i, m := range w.members {
			for _, o := range w.members[:i] {
				_ = w.meet(w.ctx, rand.New(rand.NewPCG(1, 1)), o.life.Load(), m.life.Load(), flaws{},
					&replica.SyncOptions{Once: true})
			}
		}
	}
}

// rules reports whether a device with the right may grant others.
func rules(r replica.Right) bool { return r == 0 || r&replica.Invite != 0 }

// add adds a member.
func (w *world) add(name string, right replica.Right, collections []string) *member {
	device, err := replica.NewDevice()
	if err != nil {
		w.t.Fatal(err)
	}
	m := &member{name: name, device: device, right: right}
	m.opts.Collections = collections
	m.dir = m.nextDir(w.root)
	w.mu.Lock()
	w.members = append(w.members, m)
	w.mu.Unlock()
	return m
}

// begin begins a life of a member.
func (w *world) begin(m *member, db *stoat.DB, inStore *remote.DB) *life {
	l, err := m.open(db, inStore)
	if w.failed(err, "begin %s", m.name) {
		return nil
	}
	m.life.Store(l)
	l.work.Go(func() { w.watch(l) })
	return l
}

// grant gives all devices their rights.
func (w *world) grant() {
	if w.trusted {
		return
	}
	l := w.members[0].life.Load()
	w.failed(l.db.Update(func(tx *stoat.Tx) error {
		for _, m := range w.members[1:] {
			if err := l.space.Grant(tx, m.device.ID(), m.right); err != nil {
				return err
			}
		}
		return nil
	}), "grant")
}

// any returns a replica that is open, or nil.
func (w *world) any(rng *rand.Rand) *life {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if len(w.olds) > 0 && rng.IntN(10) == 0 {
		return w.olds[rng.IntN(len(w.olds))]
	}
	return w.members[rng.IntN(len(w.members))].life.Load()
}

// watch follows a live query, which must tell of all that changes.
func (w *world) watch(l *life) {
	for l.ctx.Err() == nil {
		sum := int64(0)
		for c, err := range l.items.Watch(l.ctx, l.db, l.items.Query()) {
			if err != nil {
				if l.expects(err, context.Canceled, stoat.ErrBucketNotFound) != nil {
					w.seen("watch: " + err.Error())
				}
				break
			}
			sum += int64(len(c.Added) - len(c.Removed))
		}
		if sum < 0 {
			w.failed(errors.New("more records left a query than joined it"), "%s", l.m.name)
		}
	}
}

// program acts on a member until the end.
func (w *world) program(m *member, rng *rand.Rand) {
	total := 0
	for i := range acts {
		total += acts[i].weight
	}
	for w.ctx.Err() == nil {
		l := m.life.Load()
		if l == nil {
			time.Sleep(time.Millisecond)
			continue
		}
		n := rng.IntN(total)
		i := 0
		for ; n >= acts[i].weight; i++ {
			n -= acts[i].weight
		}
		began := time.Now()
		if l.using.RLock(); m.life.Load() != l {
			l.using.RUnlock()
			continue
		}
		err := acts[i].do(w, l, rng)
		l.using.RUnlock()
		if took := time.Since(began); took > 5*time.Second {
			w.seen(fmt.Sprintf("slow: %s", acts[i].name))
			w.t.Logf("%s took %s on %s", acts[i].name, took, m.name)
		}
		if err != nil {
			w.seen("act " + acts[i].name + ": " + err.Error())
		} else {
			w.seen("act " + acts[i].name)
		}
		w.failed(l.expects(err, acts[i].fine...), "%s: %s", m.name, acts[i].name)
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		}
	}
}

// link has sessions between any two replicas until the end.
func (w *world) link(rng *rand.Rand) {
	for w.ctx.Err() == nil {
		a, b := w.any(rng), w.any(rng)
		if a == nil || b == nil || a == b {
			time.Sleep(time.Millisecond)
			continue
		}
		var f flaws
		if rng.IntN(2) == 0 {
			f.cut = 1 + rng.IntN(20_000)
		}
		if rng.IntN(2) == 0 {
			f.delays = 0.1
		}
		if rng.IntN(20) == 0 {
			f.repeats = 0.05
		}
		ctx, cancel := context.WithCancel(w.ctx)
		opts := &replica.SyncOptions{Once: rng.IntN(3) == 0}
		if opts.Once {
			timer := time.AfterFunc(60*time.Second, func() {
				w.failed(errors.New("hangs"), "a session of %s and %s", a.m.name, b.m.name)
			})
			w.meet(ctx, rng, a, b, f, opts)
			timer.Stop()
		} else {
			time.AfterFunc(time.Duration(rng.IntN(400))*time.Millisecond, cancel)
			w.meet(ctx, rng, a, b, f, opts)
		}
		cancel()
	}
}

// meet has a session, and returns the error of one side.
func (w *world) meet(ctx context.Context, rng *rand.Rand, a, b *life, f flaws,
	opts *replica.SyncOptions) (failed error) {
	x, y := connect(rng, f)
	kind := "live"
	if opts.Once {
		kind = "once"
	}
	if f.repeats > 0 {
		kind = "repeated"
	}
	run := func(l, with *life, conn net.Conn) (err error) {
		err = replica.Sync(ctx, l.space, conn, opts)
		if errors.Is(err, errCut) || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			w.seen("session cut or cancelled")
			return err
		}
		text := "ends well"
		if err != nil {
			text = err.Error()
		}
		if f.cut > 0 {
			text += " (cut)"
		}
		if l.closing.Load() || with.closing.Load() {
			text += " (closing)"
		}
		if w.settling {
			text += fmt.Sprintf(" %s with %s", l.m.name, with.m.name)
		}
		w.seen("session " + kind + ": " + text)
		for _, bad := range []error{stoat.ErrCorrupt, replica.ErrMismatch} {
			if errors.Is(err, bad) {
				w.failed(err, "a session of %s with %s", l.m.name, with.m.name)
			}
		}
		if f.repeats == 0 && (errors.Is(err, replica.ErrPeer) || errors.Is(err, replica.ErrInvalid)) {
			w.failed(err, "a session of %s with %s", l.m.name, with.m.name)
		}
		return err
	}
	var group sync.WaitGroup
	group.Go(func() { failed = run(a, b, x) })
	group.Go(func() { _ = run(b, a, y) })
	group.Wait()
	return failed
}

// keep closes, opens, copies and moves replicas until the end.
func (w *world) keep(rng *rand.Rand) {
	for w.ctx.Err() == nil {
		select {
		case <-w.ctx.Done():
			return
		case <-time.After(time.Duration(20+rng.IntN(200)) * time.Millisecond):
		}
		w.mu.RLock()
		m := w.members[rng.IntN(len(w.members))]
		n := len(w.members)
		w.mu.RUnlock()
		l := m.life.Load()
		m.living.Lock()
		switch kind := rng.IntN(10); {
		case m.name == "visitor" && kind < 4 && !w.forks:
			w.rejoin(m, l)
		case m.store != nil && kind < 4:
			w.takeOver(m, l)
		case kind < 2 && n < 7 && m.store == nil && w.forks:
			w.backup(m, l)
		case kind < 4 && m.store == nil && m != w.members[0] && !w.forks:
			w.restore(m, l, rng)
		case kind < 3 && n < 7 && w.forks && !w.trusted && m.store == nil:
			w.reopen(m, l, true)
		case kind < 8:
			w.reopen(m, l, false)
		}
		m.living.Unlock()
	}
}

// reopen closes a replica and opens it again. A copy of its folder may become another one.
func (w *world) reopen(m *member, l *life, copied bool) {
	m.life.Store(nil)
	if w.failed(l.close(), "close %s", m.name) {
		return
	}
	var c *member
	if copied {
		c = w.copyOf(m)
		if w.failed(os.CopyFS(c.dir, os.DirFS(m.dir)), "copy") {
			return
		}
		w.seen("copied folder")
	}
	w.seen("reopened")
	w.begin(m, nil, nil)
	if c != nil {
		w.join(c)
	}
}

// copyOf returns a member of the same device.
func (w *world) copyOf(m *member) *member {
	w.mu.RLock()
	defer w.mu.RUnlock()
	c := &member{name: fmt.Sprint(m.name, "copy", len(w.members)), device: m.device, opts: m.opts,
		writes: m.writes, prunes: m.prunes, right: m.right}
	if m == w.members[0] {
		c.right = replica.Write // copies do not grant
	}
	c.dir = c.nextDir(w.root)
	return c
}

// join lets a member take part.
func (w *world) join(m *member) {
	if w.begin(m, nil, nil) == nil {
		return
	}
	w.mu.Lock()
	w.members = append(w.members, m)
	w.mu.Unlock()
	rng := rand.New(rand.NewPCG(uint64(len(m.name)), 3))
	w.group.Go(func() { w.program(m, rng) })
}

// backup makes a backup of a replica, and opens it as another one.
func (w *world) backup(m *member, l *life) {
	c := w.copyOf(m)
	if !w.failed(l.db.Backup(l.ctx, c.dir), "back up %s", m.name) {
		w.seen("backup opened")
		w.join(c)
	}
}

// restore makes a backup of a replica; or else its disk is lost, and it goes on with the backup.
// What it has acknowledged was given to others before that.
func (w *world) restore(m *member, l *life, rng *rand.Rand) {
	if m.backup == "" {
		m.backup = m.nextDir(w.root)
		w.failed(l.db.Backup(l.ctx, m.backup), "back up %s", m.name)
		return
	}
	m.life.Store(nil)
	l.using.Lock()
	defer l.using.Unlock()
	given := false
	for range 3 {
		if to := w.members[0].life.Load(); to != nil && !given {
			given = w.meet(w.ctx, rng, l, to, flaws{}, &replica.SyncOptions{Once: true}) == nil
		}
	}
	if !given {
		m.life.Store(l)
		return
	}
	w.failed(l.close(), "close %s", m.name)
	m.dir, m.backup = m.backup, ""
	w.seen("restored")
	w.begin(m, nil, nil)
}

// rejoin makes an empty replica of a member.
func (w *world) rejoin(m *member, l *life) {
	m.life.Store(nil)
	w.failed(l.close(), "close %s", m.name)
	id := l.space.ID()
	m.id, m.dir = &id, m.nextDir(w.root)
	w.seen("joined again")
	w.begin(m, nil, nil)
}

// takeOver has a standby take over from a member.
func (w *world) takeOver(m *member, l *life) {
	r, err := remote.OpenReader(w.ctx, m.store, "", nil)
	if w.ctx.Err() != nil || w.failed(err, "open a standby") {
		return
	}
	dir := m.nextDir(w.root)
	l.fenced.Store(true)
	db, err := r.TakeOver(context.Background(), dir, shipping)
	if w.failed(err, "take over") {
		return
	}
	w.seen("taken over")
	before := m.dir
	m.dir = dir
	w.mu.Lock()
	w.olds = append(w.olds, l)
	w.mu.Unlock()
	w.begin(m, db.DB, db)
	time.Sleep(20 * time.Millisecond)
	w.mu.Lock()
	w.olds = slices.DeleteFunc(w.olds, func(o *life) bool { return o == l })
	w.mu.Unlock()
	l.using.Lock()
	defer l.using.Unlock()
	w.failed(l.close(), "close a writer that lost its role")
	w.failed(w.recover(m, before), "recover what a writer had")
}

// recover gives others what is in the folder of a writer that has lost its role.
func (w *world) recover(m *member, dir string) error {
	db, err := stoat.Open(dir, nil)
	if err != nil {
		return err
	}
	space, err := replica.Open(db, spaceName, &replica.Options{Device: m.device})
	if err == nil {
		l := &life{m: m, db: db, space: space}
		for range 50 {
			if to := w.members[0].life.Load(); to != nil {
				err = w.meet(context.Background(), rand.New(rand.NewPCG(1, 1)), l, to, flaws{},
					&replica.SyncOptions{Once: true})
				if err == nil {
					w.seen("recovered")
					break
				}
			}
			time.Sleep(time.Millisecond)
		}
	}
	return errors.Join(err, db.Close())
}
