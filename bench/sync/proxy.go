package sync

import (
	"net"
	"sync"
	"time"
)

// traffic is what went through a proxy.
type traffic struct {
	bytes int64 // in both directions
	turns int   // how often the direction changed from the client's bytes to the server's
}

// proxy forwards TCP connections to a server and counts the bytes. It is safe for concurrent use.
type proxy struct {
	listener net.Listener
	server   string
	ended    sync.WaitGroup

	mu     sync.Mutex
	sum    traffic
	toward bool // the last bytes went to the server
	conns  map[net.Conn]bool
	closed bool
}

// newProxy returns a proxy in front of a server.
func newProxy(server string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server, conns: map[net.Conn]bool{}}
	p.ended.Go(p.accept)
	return p, nil
}

// address returns where clients connect.
func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			return
		}
		p.ended.Go(func() { p.join(client, server) })
	}
}

// join forwards both directions and closes both connections in the end.
func (p *proxy) join(client, server net.Conn) {
	var both sync.WaitGroup
	both.Go(func() { p.forward(server, client, true) })
	both.Go(func() { p.forward(client, server, false) })
	both.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range []net.Conn{client, server} {
		_ = c.Close()
		delete(p.conns, c)
	}
}

// keep remembers the connections of a client, to close them in the end. It reports whether the
// proxy is open.
func (p *proxy) keep(conns ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		if p.closed {
			_ = c.Close()
		} else {
			p.conns[c] = true
		}
	}
	return !p.closed
}

// forward copies what comes from one side to the other until one of them is closed.
func (p *proxy) forward(to, from net.Conn, toward bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			p.count(n, toward)
			if _, failed := to.Write(buf[:n]); failed != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite() // the other direction may go on
	}
}

func (p *proxy) count(n int, toward bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.toward && !toward {
		p.sum.turns++
	}
	p.toward = toward
	p.sum.bytes += int64(n)
}

// take returns the traffic since the last take, once there has been none for a while.
func (p *proxy) take() traffic {
	const quiet = 20 * time.Millisecond
	for before := p.total(); ; {
		time.Sleep(quiet)
		now := p.total()
		if now == before {
			break
		}
		before = now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	sum := p.sum
	p.sum, p.toward = traffic{}, false
	return sum
}

func (p *proxy) total() traffic {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sum
}

// close closes all connections and waits for their end.
func (p *proxy) close() error {
	err := p.listener.Close()
	p.mu.Lock()
	p.closed = true
	for c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.ended.Wait()
	return err
}
