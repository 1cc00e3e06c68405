package replica

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// protocolHTTP is the protocol that a connection is upgraded to.
const protocolHTTP = "stoat-replica-1"

// Handler serves spaces over HTTP: sessions by upgrade, for [DialHTTP], and requests of [Post].
// Sessions end with the context of their requests: see http.Server.BaseContext;
// http.Server.Shutdown does not wait for them.
//
// Devices prove who they are, also behind a proxy that ends TLS. But such a proxy sees everything,
// and can go on in the place of a device that has proven itself: it can read and withhold, though
// not forge, because entries are sealed. [Serve] trusts nothing between the devices.
func Handler(spaces []*Space, opts *ServeOptions) http.Handler {
	return &handler{newServer(spaces, opts)}
}

// handler is a Handler. It is safe for concurrent use.
type handler struct{ *server }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !h.tryBegin() {
		http.Error(w, "too many sessions: try again later", http.StatusServiceUnavailable)
		return
	}
	defer h.end()
	switch {
	case r.Method == http.MethodPost:
		h.post(w, r)
	case strings.EqualFold(r.Header.Get("Upgrade"), protocolHTTP):
		h.upgrade(w, r)
	default:
		w.Header().Set("Upgrade", protocolHTTP)
		w.Header().Set("Connection", "Upgrade")
		http.Error(w, "this is an address for replicas that speak "+protocolHTTP,
			http.StatusUpgradeRequired)
	}
}

// upgrade makes a session of a request.
func (h *handler) upgrade(w http.ResponseWriter, r *http.Request) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "connections of "+r.Proto+" cannot be upgraded: use HTTP/1.1",
			http.StatusHTTPVersionNotSupported)
		return
	}
	defer func() { _ = conn.Close() }()
	_, err = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"+
		"Upgrade: %s\r\n\r\n", protocolHTTP)
	if err == nil {
		err = conn.SetDeadline(time.Time{}) // those of the server are for requests
	}
	if err != nil {
		h.ended(nil, DeviceID{}, err)
		return
	}
	h.session(r.Context(), &upgraded{conn, buffered.Reader})
}

// upgraded is a connection of which some bytes were read already.
type upgraded struct {
	net.Conn
	r *bufio.Reader
}

// Read implements io.Reader. Through the reader of the server, the end of the connection would end
// the context of the request, before the session says why it ends.
func (u *upgraded) Read(p []byte) (int, error) {
	if n := u.r.Buffered(); n > 0 {
		return u.r.Read(p[:min(n, len(p))])
	}
	return u.Conn.Read(p)
}

// DialHTTP connects to a [Handler] at a URL. The client may be nil; else it must speak HTTP/1.1, as
// HTTP/2 has no upgrade. The caller passes the connection to [Sync].
func DialHTTP(ctx context.Context, url string, client *http.Client) (io.ReadWriteCloser, error) {
	if client == nil {
		client = &http.Client{Transport: onlyHTTP1()}
	}
	ctx, cancel := context.WithTimeout(ctx, handshakeMax) // does not outlast the upgrade
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", protocolHTTP)
	answer, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	conn, ok := answer.Body.(io.ReadWriteCloser)
	if answer.StatusCode != http.StatusSwitchingProtocols || !ok {
		return nil, errors.Join(refusal(url, answer), answer.Body.Close())
	}
	return conn, nil
}

// onlyHTTP1 returns a transport without HTTP/2.
func onlyHTTP1() *http.Transport {
	t := &http.Transport{Proxy: http.ProxyFromEnvironment, Protocols: new(http.Protocols)}
	t.Protocols.SetHTTP1(true)
	return t
}

// refusal returns what a server said instead of what was asked for.
func refusal(url string, answer *http.Response) error {
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10)) // it may say nothing
	reason := strings.TrimSpace(string(text))
	for status, known := range map[int]error{
		http.StatusForbidden: ErrNotAllowed, http.StatusGone: ErrPruned,
	} {
		if answer.StatusCode == status {
			reason = strings.TrimSuffix(reason, ": "+known.Error())
			return fmt.Errorf("%s: %q: %w", url, reason, known)
		}
	}
	err := fmt.Errorf("%s: %q: %q", url, answer.Status, reason)
	if answer.StatusCode == http.StatusInternalServerError {
		return fmt.Errorf("%w: %w", ErrEnded, err)
	}
	speaks := answer.Header.Get("Upgrade")
	switch {
	case answer.StatusCode == http.StatusRequestEntityTooLarge:
		err = fmt.Errorf("%w: if a proxy says so, raise its limit, or use Sync", err)
	case answer.StatusCode == http.StatusUpgradeRequired && speaks != "" && speaks != protocolHTTP:
		err = fmt.Errorf("%w: it speaks %q, and this side %s: update the side that is older", err, speaks,
			protocolHTTP)
	}
	return err
}
