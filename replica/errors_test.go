package replica

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// Errors name the space once; those that come with the space do not name it.
func TestErrors_nameTheSpaceOnce(t *testing.T) {
	const named = `space "team": database is closed`
	server := newPeer(t, nil)
	a := newPeer(t, server)
	a.put(task{ID: 1})
	web := server.web(nil)
	must(t, a.db.Close())
	for name, call := range map[string]func() error{
		"Seal": a.space.Seal,
		"Sync": func() error {
			x, y := net.Pipe()
			go func() { _ = Sync(context.Background(), server.space, y, once) }()
			return Sync(t.Context(), a.space, x, once)
		},
		"Post":   func() error { return Post(t.Context(), a.space, web.URL, nil) },
		"Export": func() error { return Export(t.Context(), a.space, nil) },
		"Prune":  a.space.Prune,
		"Open":   func() error { _, err := Open(a.db, "team", nil); return err },
	} {
		if err := call(); !errors.Is(err, stoat.ErrClosed) || err.Error() != named {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What ServeOptions.Ended and the status say comes with the space, so it does not name it, and
// neither does what the other side is told.
func TestErrors_thatComeWithTheirSpaceDoNotNameIt(t *testing.T) {
	const closed = "its database was closed: it must be opened again"
	for name, call := range map[string]func(client *peer, url string) error{
		"upgrade": func(p *peer, url string) error { return p.browse(url, nil, SyncOptions{}) },
		"POST":    func(p *peer, url string) error { return Post(t.Context(), p.space, url, nil) },
	} {
		server := newPeer(t, nil)
		a := newPeer(t, server)
		ended := make(chan error, 1)
		web := server.web(&ServeOptions{
			Sync:  SyncOptions{Admit: func(*Space, DeviceID) error { return server.db.Close() }},
			Ended: func(_ *Space, _ DeviceID, err error) { ended <- err },
		})
		err := call(a, web.URL)
		want := fmt.Sprintf("space %q: the peer ended the session: %q", "team", closed)
		if name == "POST" {
			want = fmt.Sprintf("space %q: the peer ended the session: %s: %q: %q", "team", web.URL,
				"500 Internal Server Error", closed)
		}
		if err == nil || err.Error() != want {
			t.Errorf("%s: the client: %v", name, err)
		}
		if err := <-ended; err == nil || err.Error() != "database is closed" {
			t.Errorf("%s: the server: %v", name, err)
		}
		server.space.mu.Lock()
		f := server.space.failures.list()
		if len(f) != 1 || f[0].Reason.Error() != "database is closed" {
			t.Errorf("%s: the failures: %v", name, f)
		}
		server.space.mu.Unlock()
		if f := a.failure(); strings.Contains(f.Reason.Error(), "team") {
			t.Errorf("%s: the failure: %v", name, f.Reason)
		}
	}
}
