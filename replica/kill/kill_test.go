package kill

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

var (
	rounds = flag.Int("kill.rounds", 6, "how often processes are killed")
	seed   = flag.Uint64("kill.seed", 0, "where random choices start; 0: anywhere")
)

// site is a directory with a replica.
type site struct {
	dir   string
	key   []byte
	id    replica.DeviceID
	acked []int // the numbers of the records whose commits returned
	next  int   // no record has this number or a greater one
}

// newSite makes a replica: of a new space, or of one that exists.
func newSite(t *testing.T, of *replica.SpaceID) (*site, replica.SpaceID) {
	t.Helper()
	device, err := replica.NewDevice()
	ok(t, err)
	s := &site{dir: filepath.Join(t.TempDir(), "db"), key: device.Key(), id: device.ID(), next: 1}
	db, err := stoat.Open(s.dir, nil)
	ok(t, err)
	opts := &replica.Options{Device: device}
	var space *replica.Space
	if of == nil {
		space, err = replica.Create(db, spaceName, opts)
		ok(t, err)
		ok(t, db.Update(func(tx *stoat.Tx) error {
			return space.Grant(tx, replica.Anyone, replica.Write)
		}))
	} else {
		space, err = replica.Join(db, spaceName, *of, opts)
		ok(t, err)
	}
	ok(t, db.Close())
	return s, space.ID()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// child is a running process.
type child struct {
	site      *site
	cmd       *exec.Cmd
	input     io.Closer // closing it asks the child to end
	out       *bufio.Scanner
	addr      string // where it listens
	complaint bytes.Buffer
}

// start starts a child on a site. The end of the test kills it.
func (s *site) start(t *testing.T, addr string, peer replica.DeviceID) *child {
	t.Helper()
	text, err := json.Marshal(plan{s.dir, s.key, addr, peer.String(), s.next})
	ok(t, err)
	self, err := os.Executable()
	ok(t, err)
	c := &child{site: s, cmd: exec.Command(self)}
	c.cmd.Env = append(os.Environ(), planVariable+"="+string(text))
	c.cmd.Stderr = &c.complaint
	c.input, err = c.cmd.StdinPipe()
	ok(t, err)
	out, err := c.cmd.StdoutPipe()
	ok(t, err)
	c.out = bufio.NewScanner(out)
	ok(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it may have ended already
	return c
}

// hear reads lines until one begins with a word, n times; it returns false at the end.
func (c *child) hear(word string, n int) bool {
	for n > 0 && c.out.Scan() {
		line := c.out.Text()
		if addr, found := strings.CutPrefix(line, "listens "); found {
			c.addr = addr
		}
		number := 0
		if _, err := fmt.Sscanf(line, "wrote %d", &number); err == nil {
			c.site.acked, c.site.next = append(c.site.acked, number), number+1
		}
		if strings.HasPrefix(line, word) {
			n--
		}
	}
	return n == 0
}

// finish hears the rest of what a child has said, and waits for it.
func (c *child) finish(t *testing.T) error {
	t.Helper()
	c.hear("nothing", 1)
	c.site.next++ // a commit that was under way may have happened
	err := c.cmd.Wait()
	if c.complaint.Len() > 0 {
		t.Errorf("the child said: %s", &c.complaint)
	}
	return err
}

// kill ends a child as kill -9 does.
func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	if c.finish(t) == nil {
		t.Error("the child ended by itself")
	}
}

// end asks a child to close the database and end.
func (c *child) end(t *testing.T) {
	t.Helper()
	ok(t, c.input.Close())
	if err := c.finish(t); err != nil {
		t.Errorf("the child: %v", err)
	}
}

func TestKill_losesNothingThatWasAcknowledged(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-kill.seed=%d", *seed)
	r := rand.New(rand.NewPCG(*seed, 16))
	server, id := newSite(t, nil)
	client, _ := newSite(t, &id)
	bringTogether(t, server, client)
	for round := range *rounds {
		s := server.start(t, "", replica.DeviceID{})
		if !s.hear("listens", 1) {
			t.Fatalf("the server has ended: %s", &s.complaint)
		}
		c := client.start(t, s.addr, server.id)
		first, second := s, c
		if r.IntN(2) == 0 {
			first, second = c, s
		}
		for _, x := range []*child{second, first} {
			if !x.hear("wrote", 1+r.IntN(20)) {
				t.Fatalf("a child has ended: %s", &x.complaint)
			}
		}
		first.kill(t)
		if r.IntN(2) == 0 {
			second.kill(t)
		} else {
			second.end(t)
		}
		bringTogether(t, server, client)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("trust: %d kills during syncs", *rounds)
}

// bringTogether checks that two sites have what they acknowledged, syncs them, and checks that they
// are equal.
func bringTogether(t *testing.T, a, b *site) {
	t.Helper()
	x, err := open(a.dir, a.key)
	ok(t, err)
	defer func() { ok(t, x.db.Close()) }()
	y, err := open(b.dir, b.key)
	ok(t, err)
	defer func() { ok(t, y.db.Close()) }()
	has(t, x, a)
	has(t, y, b)
	p, q := net.Pipe()
	done := make(chan error, 1)
	once := &replica.SyncOptions{Once: true}
	go func() { done <- replica.Sync(context.Background(), y.space, q, once) }()
	ok(t, replica.Sync(context.Background(), x.space, p, once))
	ok(t, <-done)
	has(t, y, a)
	has(t, x, b)
	one, logs := measure(t, x)
	other, _ := measure(t, y)
	if one != other {
		t.Error("after a sync, the replicas differ")
	}
	if logs != 2 {
		t.Errorf("two devices have %d logs: one has forked", logs)
	}
}

// has checks that a replica has all records that a site has acknowledged.
func has(t *testing.T, r *replicaIn, s *site) {
	t.Helper()
	ok(t, r.db.View(func(tx *stoat.Tx) error {
		for _, n := range s.acked {
			if _, err := r.counters.Get(tx, fmt.Sprintf("%s/%d", s.id, n)); err != nil {
				return fmt.Errorf("record %d: %w", n, err)
			}
		}
		return nil
	}))
}

// measure returns the root of a replica, and how many logs it has. It checks that all transactions
// are there as a whole: each stored a record, and added one to the total.
func measure(t *testing.T, r *replicaIn) (root [32]byte, logs int) {
	t.Helper()
	ok(t, r.db.View(func(tx *stoat.Tx) error {
		heads, err := r.space.Heads(tx)
		if err != nil {
			return err
		}
		logs = len(heads)
		records, total := int64(0), int64(0)
		for c, err := range r.counters.All(tx) {
			if err != nil {
				return err
			}
			if c.Name == totalName {
				total = c.Count
			} else {
				records += c.Count
			}
		}
		if records != total {
			t.Errorf("%d records, and a total of %d", records, total)
		}
		root, err = r.space.Root(tx)
		return err
	}))
	return root, logs
}
