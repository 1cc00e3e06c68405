package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// person is somebody at a machine, who has read docs/replica.md. The key file is where the command
// looks for it.
type person struct {
	t      testing.TB
	home   string
	device string
}

func newPerson(t testing.TB) *person {
	t.Helper()
	p := &person{t: t, home: t.TempDir()}
	p.device = strings.TrimSpace(p.do("device"))
	return p
}

// db returns the name of the person's database.
func (p *person) db() string { return filepath.Join(p.home, "shop.db") }

// do runs the command, which must succeed.
func (p *person) do(args ...string) string {
	p.t.Helper()
	r := start(p.t, p.home, nil, args...).end()
	if r.code != exitOK {
		p.t.Fatalf("stoat replica %q: exit code %d: %s", args, r.code, r.err)
	}
	return r.out
}

// fails runs the command, which must fail with the words in its message.
func (p *person) fails(code int, words string, args ...string) {
	p.t.Helper()
	r := start(p.t, p.home, nil, args...).end()
	if r.code != code || !strings.Contains(r.err, words) {
		p.t.Errorf("stoat replica %q: exit code %d: %s", args, r.code, r.err)
	}
}

// shows fails the test unless the output of the command has the words.
func (p *person) shows(words string, args ...string) {
	p.t.Helper()
	if out := p.do(args...); !strings.Contains(out, words) {
		p.t.Errorf("stoat replica %q does not show %q:\n%s", args, words, out)
	}
}

// program runs what the person's own program does with its items.
func (p *person) program(fn func(tx *stoat.Tx, space *replica.Space) error) {
	p.t.Helper()
	key := filepath.Join(p.home, "stoat", "device.key")
	s := &store{t: p.t, db: p.db(), key: key}
	s.use(func(db *stoat.DB, space *replica.Space) error {
		return db.Update(func(tx *stoat.Tx) error { return fn(tx, space) })
	})
}

// put stores an item.
func (p *person) put(v item) {
	p.t.Helper()
	key := filepath.Join(p.home, "stoat", "device.key")
	(&store{t: p.t, db: p.db(), key: key}).put(v)
}

// root returns the root of the items.
func (p *person) root() (root [32]byte) {
	p.t.Helper()
	p.program(func(tx *stoat.Tx, space *replica.Space) (err error) {
		root, err = space.CollectionRoot(tx, "items")
		return err
	})
	return root
}

// serve runs fn while the person serves the database at an address.
func (p *person) serve(fn func(addr string)) {
	p.t.Helper()
	server := start(p.t, p.home, nil, "serve", "-listen", "127.0.0.1:0", p.db())
	fn(server.listens())
	server.stop()
}

// The commands of docs/replica.md, as somebody gives them who has read nothing else: a shop, a
// phone that holds a part of it, and a laptop. The shop loses its disk in the end.
func TestGuide_walk(t *testing.T) {
	shop, phone, laptop := newPerson(t), newPerson(t), newPerson(t)
	id := strings.TrimSpace(shop.do("create", shop.db(), "home"))
	shop.do("grant", shop.db(), phone.device, "write", "-in", "items")
	shop.do("grant", shop.db(), laptop.device, "write")
	phone.do("join", "-collections", "items, lists", phone.db(), "home", id)
	phone.fails(exitError, "exists already", "join", phone.db(), "home", id)
	phone.shows("holds      items, lists", "status", phone.db())
	laptop.do("join", laptop.db(), "home", id)
	shop.put(item{Name: "milk", Amount: 2})
	shop.serve(func(addr string) {
		phone.shows("4 entries arrived", "sync", phone.db(), addr, shop.device)
		laptop.do("sync", laptop.db(), addr, shop.device)
		phone.put(item{Name: "bread", Amount: 1, Note: "rye"})
		laptop.put(item{Name: "milk", Amount: 3})
		for _, p := range []*person{phone, laptop, phone} {
			p.do("sync", p.db(), addr, shop.device)
		}
		shop.fails(exitError, "locked", "grant", shop.db(), phone.device, "read")
	})
	shop.shows("amount = 3", "why", shop.db(), "items", "milk")
	if phone.root() != shop.root() || laptop.root() != shop.root() {
		t.Error("the items differ")
	}
	phone.shows("content of some collections is not here", "verify", phone.db())

	shop.do("revoke", shop.db(), phone.device)
	phone.put(item{Name: "late", Amount: 5})
	stick := filepath.Join(t.TempDir(), "stick")
	phone.do("export", phone.db(), stick)
	shop.do("import", shop.db(), stick)
	shop.shows("was revoked", "void", shop.db())
	shop.shows("items late is not there", "why", shop.db(), "items", "late")

	walkPruning(t, shop, laptop, stick)
	walkLostServer(t, shop, laptop, id)
}

// walkPruning forgets the history at the shop.
func walkPruning(t *testing.T, shop, laptop *person, stick string) {
	t.Helper()
	shop.fails(exitNotFound, "stoat replica checkpoint", "prune", shop.db())
	shop.do("checkpoint", shop.db())
	shop.do("export", shop.db(), stick)
	shop.do("import", shop.db(), stick)
	shop.do("prune", shop.db())
	shop.shows("pruned here", "status", shop.db())
	shop.shows("without what was pruned here", "why", shop.db(), "items", "milk")
	shop.shows(`"skipped":"the history that makes it was pruned here"`, "verify", "-json", shop.db())
	laptop.do("import", laptop.db(), stick)
	laptop.put(item{Name: "eggs", Amount: 6})
	laptop.do("export", laptop.db(), stick)
	shop.do("import", shop.db(), stick)
	if laptop.root() != shop.root() {
		t.Error("the items differ after the history was pruned")
	}
}

// walkLostServer makes the shop's replica anew, and the laptop refills it.
func walkLostServer(t *testing.T, shop, laptop *person, id string) {
	t.Helper()
	want := shop.root()
	lost := &person{t: t, home: t.TempDir(), device: shop.device}
	key := filepath.Join(shop.home, "stoat", "device.key")
	lost.do("join", "-device", key, lost.db(), "home", id)
	server := start(t, lost.home, nil, "serve", "-device", key, "-listen", "127.0.0.1:0", lost.db())
	laptop.do("sync", laptop.db(), server.listens(), shop.device)
	server.stop()
	refilled := &store{t: t, db: lost.db(), key: key}
	refilled.use(func(db *stoat.DB, space *replica.Space) error {
		return db.View(func(tx *stoat.Tx) error {
			root, err := space.CollectionRoot(tx, "items")
			if err == nil && root != want {
				t.Error("the server that was refilled has other items")
			}
			return err
		})
	})
	lost.shows("the state is what they make", "verify", lost.db())
}
