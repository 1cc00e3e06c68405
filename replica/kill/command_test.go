package kill

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// buildCommand builds stoat-replica.
func buildCommand(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "stoat-replica.exe")
	out, err := exec.Command("go", "build", "-o", name, "../cmd/stoat-replica").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return name
}

// keyFile writes the key file of a site, and returns its name.
func (s *site) keyFile(t *testing.T) (name string) {
	t.Helper()
	name = filepath.Join(filepath.Dir(s.dir), "key")
	ok(t, os.WriteFile(name, fmt.Appendf(nil, "stoat-device-1 %x\n", s.key), 0o600))
	return name
}

// write stores records at a site, each in a transaction.
func (s *site) write(t *testing.T, records int) {
	t.Helper()
	r, err := open(s.dir, s.key)
	ok(t, err)
	for range records {
		ok(t, r.store(s.next))
		s.acked, s.next = append(s.acked, s.next), s.next+1
	}
	ok(t, r.db.Close())
}

// process is a running command.
type process struct {
	cmd *exec.Cmd
	out *bufio.Reader
	err bytes.Buffer
}

// start starts a command. The end of the test kills it.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(name, args...)}
	p.cmd.Stderr = &p.err
	out, err := p.cmd.StdoutPipe()
	ok(t, err)
	p.out = bufio.NewReader(out)
	ok(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() }) // it may have ended already
	return p
}

// wait waits until a command has ended, and returns nil if it succeeded.
func (p *process) wait() error {
	_, _ = io.Copy(io.Discard, p.out)
	return p.cmd.Wait()
}

// listens waits until a server listens, and returns where.
func (p *process) listens(t *testing.T) (addr string) {
	t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		if addr, found := strings.CutPrefix(strings.TrimSpace(line), "listens at "); found {
			return addr
		}
		if err != nil {
			t.Fatalf("the server has ended: %v: %s", p.wait(), &p.err)
		}
	}
}

// relay passes bytes on between a client and a server, and does something when a number of them
// has passed.
type relay struct {
	mu   sync.Mutex
	left int
	then func(conns ...net.Conn)
}

// serve relays the only connection that it accepts, and returns when both of its halves have ended.
func (r *relay) serve(l net.Listener, addr string) {
	here, err := l.Accept()
	if err != nil {
		return // the client was never there
	}
	defer func() { _ = here.Close() }()
	there, err := net.Dial("tcp", addr)
	if err != nil {
		return // the server is not there any more
	}
	defer func() { _ = there.Close() }()
	var halves sync.WaitGroup
	pass := func(from, to net.Conn) {
		p := make([]byte, 512)
		for err := error(nil); err == nil; {
			var n int
			n, err = from.Read(p)
			r.count(n, here, there)
			if _, failed := to.Write(p[:n]); failed != nil {
				err = failed
			}
		}
		_ = to.Close() // what ends one half ends both
	}
	halves.Go(func() { pass(here, there) })
	halves.Go(func() { pass(there, here) })
	halves.Wait()
}

// count counts bytes that are about to pass.
func (r *relay) count(n int, conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.left > 0 && r.left <= n {
		r.then(conns...)
	}
	r.left -= n
}

// The commands serve and sync are killed, or cut off from each other, anywhere in a session. What a
// sync that succeeded has given is at the server, though that is killed at once.
func TestKill_commandsLoseNothing(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-kill.seed=%d", *seed)
	r := rand.New(rand.NewPCG(*seed, 17))
	name := buildCommand(t)
	server, id := newSite(t, nil)
	client, _ := newSite(t, &id)
	server.keyFile(t)
	client.keyFile(t)
	bringTogether(t, server, client)
	done := 0
	for round := range *rounds {
		server.write(t, r.IntN(40))
		client.write(t, r.IntN(40))
		if killDuringSync(t, name, server, client, r) {
			done++
			promised(t, server, client)
		}
		bringTogether(t, server, client)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
	}
	t.Logf("trust: %d kills of commands that sync", *rounds)
	t.Logf("%d syncs had succeeded", done)
}

// killDuringSync syncs two sites with the commands, disturbs that at random, and kills the server.
// It reports whether the sync has succeeded.
func killDuringSync(t *testing.T, name string, server, client *site, r *rand.Rand) bool {
	t.Helper()
	s := start(t, name, "serve", "-device", server.keyFile(t), "-listen", "127.0.0.1:0", server.dir)
	addr := s.listens(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	between := &relay{left: 1 + r.IntN(1<<(4+r.IntN(11)))}
	gone := make(chan struct{})
	c := start(t, name, "sync", "-device", client.keyFile(t), client.dir, l.Addr().String(),
		server.id.String())
	switch r.IntN(3) {
	case 0:
		between.then = func(...net.Conn) { _ = s.cmd.Process.Kill() }
	case 1:
		between.then = func(...net.Conn) { _ = c.cmd.Process.Kill() }
	default:
		between.then = func(conns ...net.Conn) {
			for _, conn := range conns {
				_ = conn.Close()
			}
		}
	}
	go func() {
		between.serve(l, addr)
		close(gone)
	}()
	err = c.wait()
	ok(t, s.kill())
	ok(t, l.Close())
	<-gone
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || strings.Contains(c.err.String(), "panic")) {
		t.Errorf("sync: %v: %s", err, &c.err)
	}
	return err == nil
}

// kill ends a command as kill -9 does.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if p.wait() == nil {
		err = errors.New("the server has ended by itself")
	}
	return err
}

// promised checks that what a sync that succeeded has exchanged is on both sides.
func promised(t *testing.T, a, b *site) {
	t.Helper()
	for _, s := range []*site{a, b} {
		r, err := open(s.dir, s.key)
		ok(t, err)
		has(t, r, a)
		has(t, r, b)
		ok(t, r.db.Close())
	}
}
