package remote

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// proxy is between the programs and the server: it lets each request wait as long as it would over
// a network, and remembers it. Safe for concurrent use.
type proxy struct {
	server   string
	listener net.Listener
	http     *http.Server
	client   *http.Transport
	clock    *clock
	link     link // of the answers

	mu   sync.Mutex
	seen traffic
}

// newProxy returns a proxy in front of a server, without delays.
func newProxy(server string, seed uint64) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{server: server, listener: l, clock: newClock(seed),
		client: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}}
	p.http = &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = p.http.Serve(l) }() // ends when the proxy is closed
	return p, nil
}

// address returns where programs connect.
func (p *proxy) address() string { return p.listener.Addr().String() }

// ServeHTTP forwards a request.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := exchange{method: r.Method, path: r.URL.Path, start: time.Now()}
	if query := r.URL.Query(); r.Method == http.MethodGet && (query.Has("list-type") ||
		query.Has("prefix")) {
		e.method = "LIST"
	}
	time.Sleep(p.clock.draw())
	body := &counted{from: r.Body}
	forwarded := r.Clone(r.Context()) // with the name of the host that was signed
	forwarded.RequestURI = ""
	forwarded.URL.Scheme, forwarded.URL.Host = "http", p.server
	forwarded.Body = body
	if r.ContentLength == 0 {
		forwarded.Body = nil
	}
	answered, err := p.client.RoundTrip(forwarded)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for name, values := range answered.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answered.StatusCode)
	e.got = p.answer(w, answered.Body)
	_ = answered.Body.Close()
	e.sent, e.end = body.n, time.Now()
	p.mu.Lock()
	p.seen = append(p.seen, e)
	p.mu.Unlock()
}

// answer sends the body of an answer as fast as the link carries it.
func (p *proxy) answer(w io.Writer, body io.Reader) (sent int64) {
	buf := make([]byte, 64<<10)
	for {
		n, err := body.Read(buf)
		if n > 0 {
			p.link.carry(n)
			if _, failed := w.Write(buf[:n]); failed != nil {
				return sent
			}
			sent += int64(n)
		}
		if err != nil {
			return sent
		}
	}
}

// settle returns when nothing has been stored for a while, or after a minute.
func (p *proxy) settle(quiet time.Duration) {
	start := time.Now()
	for time.Since(start) < time.Minute {
		time.Sleep(quiet / 10)
		last := start
		p.mu.Lock()
		for _, e := range p.seen {
			if e.method == http.MethodPut && e.end.After(last) {
				last = e.end
			}
		}
		p.mu.Unlock()
		if time.Since(last) >= quiet {
			return
		}
	}
}

// take returns the traffic since the last take.
func (p *proxy) take() traffic {
	const behind = 20 * time.Millisecond // a client has its answer before the proxy has noted it
	time.Sleep(behind)
	p.mu.Lock()
	defer p.mu.Unlock()
	seen := p.seen
	p.seen = nil
	return seen
}

func (p *proxy) close() error {
	defer p.client.CloseIdleConnections()
	return p.http.Close()
}

// counted counts the bytes of the body of a request.
type counted struct {
	from io.ReadCloser
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.n += int64(n)
	return n, err
}

func (c *counted) Close() error { return c.from.Close() }
