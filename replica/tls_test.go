package replica

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stoatdb/stoat"
)

// service is a Serve in a test.
type service struct {
	addr string
	stop context.CancelFunc
	done chan error

	mu    sync.Mutex
	ended []error
	heard chan struct{} // has an element for each element of ended
}

// serve serves the space of a replica on loopback, until the test ends.
func (p *peer) serve() *service {
	p.t.Helper()
	return serveSpaces(p.t, p.space)
}

func serveSpaces(t testing.TB, spaces ...*Space) *service {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	v := &service{addr: l.Addr().String(), stop: stop, done: make(chan error, 1),
		heard: make(chan struct{}, 1000)}
	opts := &ServeOptions{Ended: func(_ *Space, _ DeviceID, err error) {
		v.mu.Lock()
		v.ended = append(v.ended, err)
		v.mu.Unlock()
		v.heard <- struct{}{}
	}}
	go func() { v.done <- Serve(ctx, l, spaces, opts) }()
	t.Cleanup(func() {
		stop()
		if err := <-v.done; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve returns %v", err)
		}
	})
	return v
}

// next waits for the end of a connection, and returns why it ended.
func (v *service) next() error {
	<-v.heard
	v.mu.Lock()
	defer v.mu.Unlock()
	err := v.ended[0]
	v.ended = v.ended[1:]
	return err
}

// visit syncs with a server once.
func (p *peer) visit(v *service, server DeviceID) error {
	conn, err := Dial(context.Background(), v.addr, p.space.device, server)
	if err != nil {
		return err
	}
	return Sync(context.Background(), p.space, conn, &SyncOptions{Once: true})
}

func TestServe_syncsClientsOverTLS(t *testing.T) {
	server := newPeer(t, nil)
	v := server.serve()
	id := server.space.device.ID()
	a, b := newPeer(t, server), newPeer(t, server)
	a.put(task{ID: 1, Title: "a"})
	b.put(task{ID: 2, Title: "b"})
	for _, p := range []*peer{a, b, a} {
		must(t, p.visit(v, id))
		must(t, v.next())
	}
	agree(t, server, a, b)
	if a.get(2) == nil || b.get(1) == nil {
		t.Error("a task is missing")
	}
}

func TestDial_refusesAnotherDevice(t *testing.T) {
	server := newPeer(t, nil)
	v := server.serve()
	a := newPeer(t, server)
	if err := a.visit(v, a.space.device.ID()); !errors.Is(err, ErrPeerKey) {
		t.Errorf("it returns %v", err)
	}
	if v.next() == nil {
		t.Error("the server did not notice")
	}
}

// A server with several spaces learns which one is meant; who does not know the id of a space
// learns nothing about it.
func TestServe_findsTheSpaceThatIsMeant(t *testing.T) {
	a := newPeer(t, nil)
	opts := a.options()
	opts.random = nil
	other, err := Create(a.db, "other", opts)
	must(t, err)
	hidden, err := Create(a.db, "hidden", opts)
	must(t, err)
	v := serveSpaces(t, a.space, other)
	id := a.space.device.ID()
	for _, want := range []*Space{a.space, other, hidden} {
		db, err := stoat.OpenMemory(nil)
		must(t, err)
		device, err := NewDevice()
		must(t, err)
		s, err := Join(db, "here", want.ID(), &Options{Device: device})
		must(t, err)
		a.update(func(tx *stoat.Tx) error { return want.Grant(tx, device.ID(), Read) })
		conn, err := Dial(context.Background(), v.addr, device, id)
		must(t, err)
		if conn.Peer() != id {
			t.Error("the connection is to another device")
		}
		err = Sync(context.Background(), s, conn, &SyncOptions{Once: true})
		if served := want != hidden; (err == nil) != served || (v.next() == nil) != served {
			t.Errorf("space %q: %v", want.Name(), err)
		}
		must(t, db.Close())
	}
}

func TestConn_hasOneBindingAtBothEnds(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	seen := map[[32]byte]bool{}
	for range 2 {
		x, y := net.Pipe()
		config, err := a.space.device.config()
		must(t, err)
		accepted := make(chan *Conn, 1)
		go func() {
			conn, err := shake(context.Background(), tls.Server(y, config))
			if err != nil {
				t.Error(err)
			}
			accepted <- conn
		}()
		conn, err := secure(context.Background(), x, b.space.device, a.space.device.ID())
		must(t, err)
		other := <-accepted
		if conn.Binding() != other.Binding() || seen[conn.Binding()] {
			t.Error("the bindings differ, or are not new")
		}
		if other.Peer() != b.space.device.ID() {
			t.Error("the server takes the client for another device")
		}
		seen[conn.Binding()] = true
		_ = x.Close()
	}
}

// hostileConfigs are clients that are not devices of this protocol.
func hostileConfigs(t *testing.T) map[string]*tls.Config {
	t.Helper()
	a := newPeer(t, nil)
	own := func() *tls.Config {
		c, err := a.space.device.config()
		must(t, err)
		return c
	}
	none, foreign, old, twice := own(), own(), own(), own()
	none.Certificates = nil
	foreign.NextProtos = []string{"h2"}
	old.MinVersion, old.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	chain := &twice.Certificates[0]
	chain.Certificate = append(chain.Certificate, chain.Certificate[0])
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	must(t, err)
	curve := own()
	curve.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	silent := own()
	silent.NextProtos = nil
	return map[string]*tls.Config{"no certificate": none, "another protocol": foreign,
		"no protocol": silent, "TLS 1.2": old, "two certificates": twice, "another kind of key": curve}
}

func TestServe_refusesPeersWithoutAKey(t *testing.T) {
	server := newPeer(t, nil)
	v := server.serve()
	for name, config := range hostileConfigs(t) {
		raw, err := net.Dial("tcp", v.addr)
		must(t, err)
		conn := tls.Client(raw, config)
		err = conn.Handshake()
		if err == nil { // TLS 1.3 tells a client of a refusal when it reads
			_, err = conn.Read(make([]byte, 1))
		}
		if err == nil || v.next() == nil {
			t.Errorf("%s: accepted", name)
		}
		_ = raw.Close()
	}
	raw, err := net.Dial("tcp", v.addr)
	must(t, err)
	if _, err = io.WriteString(raw, "GET / HTTP/1.1\r\n\r\n"); err != nil || v.next() == nil {
		t.Errorf("a client without TLS is accepted (%v)", err)
	}
	_ = raw.Close()
}

// Peers that say nothing hold no session up: the end of the context ends them, too.
func TestServe_endsWithSilentPeers(t *testing.T) {
	before := runtime.NumGoroutine()
	server := newPeer(t, nil)
	v := server.serve()
	for range 5 {
		raw, err := net.Dial("tcp", v.addr)
		must(t, err)
		defer func() { _ = raw.Close() }()
	}
	v.stop()
	if err := <-v.done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	v.done <- context.Canceled // for the cleanup
	awaitGoroutines(t, before+1)
}

// awaitGoroutines waits until there are no more goroutines than that.
func awaitGoroutines(t testing.TB, most int) {
	t.Helper()
	for range 1_000_000 {
		if runtime.NumGoroutine() <= most {
			return
		}
		runtime.Gosched()
	}
	var stacks strings.Builder
	p := make([]byte, 1<<16)
	stacks.Write(p[:runtime.Stack(p, true)])
	t.Errorf("%d goroutines are left:\n%s", runtime.NumGoroutine(), &stacks)
}

func TestServe_refusesSpacesOfTwoDevices(t *testing.T) {
	a := newPeer(t, nil)
	b := newPeer(t, a)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	if Serve(context.Background(), l, []*Space{a.space, b.space}, nil) == nil {
		t.Error("accepted")
	}
	if _, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
	}
}

// Of a connection that proves another device than the one that is expected, nothing is believed.
func TestSync_expectsItsPeerOnConnections(t *testing.T) {
	server := newPeer(t, nil)
	a, b := newPeer(t, server), newPeer(t, server)
	v := server.serve()
	conn, err := Dial(t.Context(), v.addr, a.space.device, server.space.device.ID())
	must(t, err)
	opts := &SyncOptions{Once: true, Peer: b.space.device.ID()}
	if err := Sync(t.Context(), a.space, conn, opts); !errors.Is(err, ErrPeerKey) {
		t.Errorf("got %v", err)
	}
}

// busy is a listener of a process that has too many open files for a moment.
type busy struct {
	net.Listener
	failures int
}

func (l *busy) Accept() (net.Conn, error) {
	if l.failures--; l.failures >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

// Peers that open too many connections do not end the server for the others.
func TestServe_outlastsTooManyFiles(t *testing.T) {
	server := newPeer(t, nil)
	a := newPeer(t, server)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, &busy{l, 2}, []*Space{server.space}, nil) }()
	v := &service{addr: l.Addr().String()}
	must(t, a.visit(v, server.space.device.ID()))
	stop()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
