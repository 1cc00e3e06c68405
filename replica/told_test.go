package replica

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
)

// objections are what a program may say, and what the peer is told of it.
func objections() map[error]string {
	secret := errors.New("/home/secret: permission denied")
	const none = "ask whoever runs it"
	return map[error]string{
		errors.New("log in first"):                            "log in first",
		errors.New(""):                                        none,
		fmt.Errorf("the user %q has left", "eve"):             `the user "eve" has left`,
		fmt.Errorf("look up the user: %w", secret):            none,
		fmt.Errorf("%w: %w", ErrNotAllowed, secret):           none,
		fmt.Errorf("/home/secret: %w", stoat.ErrCorrupt):      none,
		errors.Join(errors.New("/home/secret"), ErrNotTaken):  none,
		&net.OpError{Op: "secret", Err: errors.New("secret")}: none,
	}
}

// tells checks that an error says what its side was told, and no secret of the other one.
func tells(t *testing.T, name string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `\"`, `"`), want) ||
		strings.Contains(err.Error(), "secret") {
		t.Errorf("%s: got %v, want %q in it", name, err, want)
	}
}

// A device that SyncOptions.Admit refuses is told the reason that the program has for it, and
// nothing that such a reason wraps, over every connection.
func TestAdmit_ofADeviceTellsItsReason(t *testing.T) {
	for reason, want := range objections() {
		server := newPeer(t, nil)
		a := newPeer(t, server)
		ended := make(chan error, 3)
		opts := SyncOptions{Admit: func(*Space, DeviceID) error { return reason }}
		web := server.web(&ServeOptions{Sync: opts,
			Ended: func(_ *Space, _ DeviceID, err error) { ended <- err }})
		tells(t, "upgrade", a.browse(web.URL, nil, SyncOptions{}), want)
		tells(t, "POST", Post(t.Context(), a.space, web.URL, nil), want)
		x, y := net.Pipe()
		go func() { ended <- Sync(t.Context(), server.space, x, &opts) }()
		tells(t, "Sync", Sync(t.Context(), a.space, y, once), want)
		for range cap(ended) {
			if err := <-ended; !errors.Is(err, reason) {
				t.Errorf("the program gets %v", err)
			}
		}
		if server.space.failures.all != nil {
			t.Errorf("the program has no failures: %v", server.space.failures)
		}
	}
}

// A device whose entries Options.Admit refuses is told the same, and what else it has is taken.
func TestAdmit_ofEntriesTellsItsReason(t *testing.T) {
	for reason, want := range objections() {
		server := newPeer(t, nil)
		a, b := newPeer(t, server), newPeer(t, server)
		a.put(task{ID: 1})
		b.put(task{ID: 2})
		meet(t, a, b)
		refused := a.space.device.ID()
		server.space.admission = func(_ *stoat.Tx, offer *Offer) error {
			if offer.Device == refused {
				return reason
			}
			return nil
		}
		web := server.web(nil)
		for name, err := range map[string]error{
			"POST":    Post(t.Context(), b.space, web.URL, nil),
			"upgrade": b.browse(web.URL, nil, SyncOptions{}),
		} {
			if tells(t, name, err, want); !errors.Is(err, ErrNotTaken) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if server.get(1) != nil || server.get(2) == nil {
			t.Error("what is refused was taken, or what is not was not")
		}
	}
}
