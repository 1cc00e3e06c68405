package replica

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// ServeOptions configures [Serve] and [Handler].
type ServeOptions struct {
	// Sync is for each session. Once is for clients to decide, and Peer is not used.
	Sync SyncOptions
	// Sessions is the most connections at a time. More of them wait. Default: 4096.
	Sessions int
	// Ended is called after each connection, with why it ended; nil if all went well. The space is
	// nil, and the device is zero, if they had not been found out. It may be called concurrently.
	Ended func(s *Space, peer DeviceID, err error)
}

const sessionsMax = 4096

// Serve has a session with every device that connects to a listener by [Dial], about the space that
// it wants, until the context or the listener ends; then it closes all connections, waits for them,
// and returns why. All spaces must have been opened with the same device. It closes the listener.
func Serve(ctx context.Context, l net.Listener, spaces []*Space, opts *ServeOptions) error {
	defer func() { _ = l.Close() }()
	if len(spaces) == 0 {
		return errors.New("there are no spaces to serve")
	}
	if err := oneDevice(spaces); err != nil {
		return err
	}
	config, err := spaces[0].device.config()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	v := newServer(spaces, opts)
	defer v.sessions.Wait()
	defer cancel() // before the sessions are waited for
	for v.begin(ctx) {
		raw, err := accept(ctx, l)
		if err != nil {
			v.end()
			return cmp.Or(ctx.Err(), err)
		}
		go func() {
			defer v.end()
			v.serve(ctx, raw, config)
		}()
	}
	return ctx.Err()
}

// acceptPause is how long accept waits before it tries again.
const acceptPause = 50 * time.Millisecond

// accept accepts a connection. It outlasts what peers can cause, such as too many open files.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for {
		conn, err := l.Accept()
		var passing interface{ Temporary() bool } // as of syscall.EMFILE and ECONNABORTED
		if err == nil || !errors.As(err, &passing) || !passing.Temporary() {
			return conn, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(acceptPause):
		}
	}
}

// oneDevice returns an error unless all spaces were opened with the same device.
func oneDevice(spaces []*Space) error {
	for _, s := range spaces {
		if s.device == nil {
			return wrap(s.name, errNoDevice)
		}
		if s.device.ID() != spaces[0].device.ID() {
			return wrap(s.name, errors.New("it was opened with another device than the spaces that "+
				"are served with it"))
		}
	}
	return nil
}

// server is the sessions of one Serve or Handler. It is safe for concurrent use.
type server struct {
	spaces   []*Space
	sync     SyncOptions
	ended    func(*Space, DeviceID, error)
	free     chan struct{} // has an element for each session
	sessions sync.WaitGroup
}

func newServer(spaces []*Space, opts *ServeOptions) *server {
	if opts == nil {
		opts = &ServeOptions{}
	}
	ended := opts.Ended
	if ended == nil {
		ended = func(*Space, DeviceID, error) {}
	}
	free := make(chan struct{}, cmp.Or(max(0, opts.Sessions), sessionsMax))
	sync := opts.Sync
	sync.Once, sync.Peer = false, DeviceID{}
	return &server{spaces: spaces, sync: sync, ended: ended, free: free}
}

// tryBegin is begin without waiting.
func (v *server) tryBegin() bool {
	select {
	case v.free <- struct{}{}:
		v.sessions.Add(1)
		return true
	default:
		return false
	}
}

// begin waits until there may be one more session; it returns false if the context ended first.
func (v *server) begin(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case v.free <- struct{}{}:
		v.sessions.Add(1)
		return true
	}
}

func (v *server) end() {
	<-v.free
	v.sessions.Done()
}

// serve runs one session, and closes the connection.
func (v *server) serve(ctx context.Context, raw net.Conn, config *tls.Config) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn, err := shake(ctx, tls.Server(raw, config))
	if err != nil {
		tellHTTP(err)
		_ = raw.Close()
		v.ended(nil, DeviceID{}, cmp.Or(ctx.Err(), err))
		return
	}
	v.session(ctx, conn)
}

// tellHTTP tells a client that speaks HTTP to a server of TLS what it should do instead. The error
// is that of the handshake.
func tellHTTP(err error) {
	var plain tls.RecordHeaderError
	if !errors.As(err, &plain) || plain.Conn == nil {
		return
	}
	switch string(plain.RecordHeader[:]) {
	case "GET /", "POST ", "PUT /", "HEAD ", "OPTIO":
		_ = plain.Conn.SetDeadline(time.Now().Add(handshakeMax))
		_, _ = io.WriteString(plain.Conn, "HTTP/1.0 400 Bad Request\r\n\r\n"+answerPlain+"\n")
	}
}

// answerPlain is the answer to requests of HTTP where replicas connect with TLS.
const answerPlain = "this server speaks TLS, and not HTTP: connect to its host and port with Dial"

// session has a session with a peer, and closes the connection. Until the peer has said who it is,
// there is little time.
func (v *server) session(ctx context.Context, conn net.Conn) {
	opts := v.sync
	var space *Space
	var peer DeviceID
	opts.Admit = func(s *Space, id DeviceID) error {
		space, peer = s, id
		err := conn.SetDeadline(time.Time{})
		if err == nil && v.sync.Admit != nil {
			err = v.sync.Admit(s, id)
		}
		return err
	}
	err := conn.SetDeadline(time.Now().Add(handshakeMax))
	if err == nil {
		err = Accept(ctx, v.spaces, conn, &opts)
	}
	_ = conn.Close()
	v.ended(space, peer, err)
}
