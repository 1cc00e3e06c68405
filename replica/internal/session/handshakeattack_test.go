package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// relayed has a session of two sides whose frames an attacker may change.
func relayed(t *testing.T, a, b *Config, change func(from int, k kind, p []byte) []byte) (
	here, there error,
) {
	t.Helper()
	x, left := net.Pipe()
	y, right := net.Pipe()
	relay := func(from int, in, out net.Conn) {
		r := bufio.NewReader(in)
		for {
			k, p, err := readFrame(r, func() {})
			if err == nil {
				_, err = out.Write(appendFrame(nil, k, change(from, k, p)))
			}
			if err != nil {
				_ = in.Close()
				_ = out.Close()
				return
			}
		}
	}
	go relay(0, left, right)
	go relay(1, right, left)
	return run(t, a, b, x, y)
}

func TestAttack19_handshakeOfAnotherConnection(t *testing.T) {
	same := func(_ int, _ kind, p []byte) []byte { return p }
	a, b := newMemory(1, 1), newMemory(1, 2)
	if here, there := relayed(t, config(a), config(b), same); here != nil || there != nil {
		t.Fatalf("a relay that changes nothing: %v, %v", here, there)
	}
	var recorded []byte
	_, _ = relayed(t, config(a), config(b), func(from int, k kind, p []byte) []byte {
		if from == 0 && k == frameAuth {
			recorded = bytes.Clone(p)
		}
		return p
	})
	for name, change := range map[string]func(from int, k kind, p []byte) []byte{
		"replayed": func(from int, k kind, p []byte) []byte {
			if from == 0 && k == frameAuth {
				return recorded
			}
			return p
		},
		"another nonce": func(from int, k kind, p []byte) []byte {
			if from == 0 && k == frameHello {
				p[5] ^= 1
			}
			return p
		},
		"another clock": func(from int, k kind, p []byte) []byte {
			if from == 0 && k == frameAuth {
				p[32*2+databaseSize+positionSize+7] ^= 1
			}
			return p
		},
		"a lower version": func(from int, k kind, p []byte) []byte {
			if from == 0 && k == frameHello {
				p[0]--
			}
			return p
		},
		"reserved features": func(from int, k kind, p []byte) []byte {
			if from == 0 && k == frameHello {
				p[1] = 1
			}
			return p
		},
	} {
		here, there := relayed(t, config(a), config(b), change)
		if there == nil || here == nil {
			t.Errorf("%s: %v, %v", name, here, there)
		}
	}
	bound, other := config(a), config(b)
	bound.Binding, other.Binding = []byte("one channel"), []byte("another")
	if here, there := relayed(t, bound, other, same); !errors.Is(here, ErrPeer) &&
		!errors.Is(there, ErrPeer) {
		t.Errorf("passed on from another channel: %v, %v", here, there)
	}
}

func TestAttack19_wrongPeerAndEcho(t *testing.T) {
	a, b := newMemory(1, 1), newMemory(1, 2)
	wants := config(a)
	wants.Peer = [32]byte{1}
	x, y := net.Pipe()
	here, there := run(t, wants, config(b), x, y)
	if !errors.Is(here, ErrPeerKey) && !errors.Is(there, ErrPeerKey) {
		t.Errorf("got %v, %v", here, there)
	}
	x, y = net.Pipe()
	go func() { _, _ = io.Copy(y, y) }()
	if err := New(config(a)).Run(context.Background(), x); !errors.Is(err, ErrPeer) {
		t.Errorf("an echo: %v", err)
	}
}

// Anybody can sign with the key of zeros. It stands for no device, so it must not be one.
func TestAttack19_theKeyThatAnybodyHas(t *testing.T) {
	err := attack(t, config(newMemory(1, 1)), func(a *attacker) {
		a.hear()
		forged := a.auth()
		forged.key, forged.signature = [32]byte{}, [64]byte{1}
		message := forged.message(a.m.id, [32]byte{}, &a.own, &a.theirs, nil)
		if !seal.Verify(&forged.key, message, &forged.signature) {
			t.Error("the signature does not hold anyway")
		}
		a.write(frameAuth, forged.append(nil))
		a.drop()
	})
	if !errors.Is(err, ErrPeer) || !strings.Contains(err.Error(), "key") {
		t.Errorf("got %v", err)
	}
}

// Who does not know a space learns nothing about it, not even that it is there; what names it is
// different each time.
func TestAttack20_guessesSpaces(t *testing.T) {
	answers := map[string]bool{}
	for _, of := range []byte{1, 2} {
		c := config(newMemory(of, 1))
		c.Accept = true
		var heard []string
		err := attack(t, c, func(a *attacker) {
			a.m.id[0] = 3
			a.greet()
			for {
				k, p, err := readFrame(a.in, func() {})
				if err != nil {
					return
				}
				heard = append(heard, fmt.Sprint(k, string(p)))
			}
		})
		if !errors.Is(err, ErrNoSpace) {
			t.Errorf("got %v", err)
		}
		answers[strings.Join(heard, ",")] = true
	}
	if len(answers) != 1 {
		t.Errorf("the answers differ: %v", answers)
	}
	one, two := hello{}, hello{nonce: [32]byte{1}}
	if hide([32]byte{1}, &one, &two) == hide([32]byte{1}, &two, &one) {
		t.Error("the name of a space is the same in both directions")
	}
}

// Of several spaces, the peer says which one it is about.
func TestSession_acceptsOneOfSeveralSpaces(t *testing.T) {
	a, b, c := newMemory(1, 1), newMemory(2, 2), newMemory(1, 3)
	a.write("x")
	accepting := config(b)
	accepting.Accept, accepting.Spaces = true, []Space{b, c}
	x, y := net.Pipe()
	if here, there := run(t, config(a), accepting, x, y); here != nil || there != nil {
		t.Fatal(here, there)
	}
	equal(t, a, c)
}

// Peers of different versions say so on both sides, and which of them needs an update.
func TestSession_ofAnotherVersion(t *testing.T) {
	for name, c := range map[string]struct {
		hello []byte
		newer bool
	}{
		"a newer version":  {append([]byte{version + 1, 7}, make([]byte, 100)...), true},
		"features":         {append([]byte{version, 2}, make([]byte, nonceSize)...), true},
		"an older version": {append([]byte{version - 1, 0}, make([]byte, nonceSize)...), false},
	} {
		var told string
		err := attack(t, config(newMemory(1, 1)), func(a *attacker) {
			a.write(frameHello, c.hello)
			for k := kind(0); k != frameBye; {
				var p []byte
				var err error
				if k, p, err = readFrame(a.in, func() {}); err != nil {
					t.Errorf("%s: it is told nothing: %v", name, err)
					return
				}
				if b, err := parseBye(p); k == frameBye && err == nil {
					told = b.reason
				}
			}
		})
		if errors.Is(err, entry.ErrNewer) != c.newer || errors.Is(err, ErrPeer) == c.newer {
			t.Errorf("%s: got %v", name, err)
		}
		for side, text := range map[string]string{"here": err.Error(), "there": told} {
			if !strings.Contains(text, "version 1") || !strings.Contains(text, "update") ||
				strings.Count(text, "protocol") > 2 {
				t.Errorf("%s, %s: %s", name, side, text)
			}
		}
	}
}
