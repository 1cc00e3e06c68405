package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// fill stores records that take half a megabyte, with or without compression.
func (s *store) fill() {
	s.t.Helper()
	s.use(func(db *stoat.DB, space *replica.Space) error {
		items, err := replica.Collection[item](space, "items", nil)
		if err != nil {
			return err
		}
		random := rand.NewChaCha8([32]byte{1})
		for i := range 8 {
			err := db.Update(func(tx *stoat.Tx) (err error) {
				for j := 0; j < 16 && err == nil; j++ {
					note := make([]byte, 4000)
					_, _ = random.Read(note)
					err = items.Put(tx, &item{Name: fmt.Sprint(i, j), Note: string(note), Amount: 1})
				}
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// interrupted fails the test unless a command has ended as an interrupt ends it.
func interrupted(t testing.TB, p *process) (out string) {
	t.Helper()
	r := p.end()
	if r.code != exitInterrupted || r.err != "stoat-replica: interrupted\n" {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
	return r.out
}

// stop interrupts a server, which is how it ends.
func (p *process) stop() {
	p.t.Helper()
	p.interrupt()
	if r := p.end(); r.code != exitOK {
		p.t.Errorf("serve ends with the exit code %d: %s", r.code, r.err)
	}
}

// A sync that is interrupted keeps what has arrived, and the next one takes the rest. So does one
// that starts from a checkpoint, which shows nothing before it has all of it.
func TestInterrupt_ofASync(t *testing.T) {
	for _, prunes := range []bool{false, true} {
		t.Run(fmt.Sprint("pruned: ", prunes), func(t *testing.T) {
			a := newStore(t, nil)
			b := newStore(t, a)
			carry(t, a, b)
			b.put(item{Name: "own", Amount: 7})
			a.fill()
			if prunes {
				output(t, "checkpoint", "-device", a.key, a.db)
				output(t, "export", "-device", a.key, a.db, filepath.Join(t.TempDir(), "f")) // seals
				output(t, "prune", "-device", a.key, a.db)
			}
			server := start(t, "", nil, "serve", "-device", a.key, "-listen", "127.0.0.1:0", a.db)
			addr := server.listens()
			d := newDam(t, addr, 300<<10)
			p := start(t, "", nil, "sync", "-device", b.key, b.db, d.addr, a.device)
			<-d.full
			p.interrupt()
			interrupted(t, p)
			status := output(t, "status", b.db)
			if started := strings.Contains(status, "starting   "); started != prunes {
				t.Errorf("status is\n%s", status)
			}
			output(t, "sync", "-device", b.key, b.db, addr, a.device)
			if why := output(t, "why", b.db, "items", "own"); !strings.Contains(why, "amount = 7") {
				t.Errorf("the record that was written here is lost:\n%s", why)
			}
			output(t, "verify", b.db)
			server.stop()
			if a.root() != b.root() {
				t.Error("they differ")
			}
		})
	}
}

// An export that is interrupted is known to be cut off. An import that is interrupted, even while
// it waits for its input, leaves what the next one goes on with.
func TestInterrupt_ofFiles(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	a.fill()
	export := start(t, "", nil, "export", "-device", a.key, a.db, "-")
	part := make([]byte, 200<<10)
	if _, err := io.ReadFull(export.out, part); err != nil {
		t.Fatal(err)
	}
	export.interrupt()
	if r := export.end(); r.code != exitInterrupted { // the rest may have fit into the pipe
		t.Logf("the export ended with the exit code %d", r.code)
	}
	stdin, feed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, "", stdin, "import", "-device", b.key, b.db, "-")
	if _, err := feed.Write(part); err != nil {
		t.Fatal(err)
	}
	p.interrupt()
	interrupted(t, p)
	if err := errors.Join(feed.Close(), stdin.Close()); err != nil {
		t.Error(err)
	}
	r := execute(t, string(part), "import", "-device", b.key, b.db, "-")
	if r.code != exitDamaged || !strings.Contains(r.err, "cut off") {
		t.Errorf("a part of a file: exit code %d, %s", r.code, r.err)
	}
	carry(t, a, b)
	carry(t, b, a)
	if a.root() != b.root() {
		t.Error("they differ")
	}
	output(t, "verify", b.db)
}
