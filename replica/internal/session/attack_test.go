package session

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/stoatdb/stoat/replica/internal/fork"
)

// attacker is a peer that follows the protocol as far as it likes. It is a member of the space.
type attacker struct {
	t           testing.TB
	conn        net.Conn
	in          *bufio.Reader
	own, theirs hello
	m           *memory
}

// write sends a frame; what was not read of the other side is dropped with the connection.
func (a *attacker) write(k kind, payload []byte) {
	_, _ = a.conn.Write(appendFrame(nil, k, payload))
}

// raw sends bytes.
func (a *attacker) raw(p []byte) { _, _ = a.conn.Write(p) }

// greet does the handshake.
func (a *attacker) greet() {
	a.t.Helper()
	a.hear()
	a.write(frameAuth, a.auth().append(nil))
}

// hear exchanges the first frames of the handshake.
func (a *attacker) hear() {
	a.t.Helper()
	a.write(frameHello, a.own.append(nil))
	_, p, err := readFrame(a.in, func() {})
	if err != nil {
		a.t.Fatal(err)
	}
	theirs, err := parseHello(p)
	if err != nil {
		a.t.Fatal(err)
	}
	a.theirs = *theirs
}

// auth returns an auth that is good.
func (a *attacker) auth() *auth {
	made := &auth{hidden: hide(a.m.id, &a.own, &a.theirs), key: a.m.Key(), database: a.m.name}
	made.signature = a.m.Sign(made.message(a.m.id, [32]byte{}, &a.own, &a.theirs, nil))
	return made
}

// drop reads what the other side sends, and forgets it.
func (a *attacker) drop() { _, _ = io.Copy(io.Discard, a.in) }

// attack has a session of a victim with an attacker, and returns how it ended for the victim.
func attack(t testing.TB, c *Config, fn func(a *attacker)) error {
	t.Helper()
	x, y := net.Pipe()
	a := &attacker{t: t, conn: y, in: bufio.NewReader(y), m: newMemory(1, 66)}
	a.own.nonce[0] = 6
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- New(c).Run(ctx, x) }()
	fn(a)
	err := <-done
	_ = y.Close()
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("the session did not end")
	}
	return err
}

// greeted does the handshake, and forgets what the victim says afterwards.
func greeted(fn func(a *attacker)) func(a *attacker) {
	return func(a *attacker) {
		a.greet()
		go a.drop()
		fn(a)
	}
}

// A run whose seal is not the one of the log's device ends the session, and nothing of it is kept.
func TestAttack01_entryInAnothersName(t *testing.T) {
	victim := newMemory(1, 1)
	before := len(victim.contents())
	err := attack(t, config(victim), greeted(func(a *attacker) {
		other := newMemory(1, 2)
		_ = other.Seal()
		run, _ := other.Run(other.own, 0, nil)
		run.Seal = a.m.Sign(other.logs[0].hashes[1][:])
		a.write(frameRun, run.append(nil))
	}))
	if !errors.Is(err, errInvalid) || len(victim.contents()) != before {
		t.Errorf("got %v, %d logs", err, len(victim.contents()))
	}
}

// What names the end of a branch depends on nonces of both sides, so branches for which it is the
// same cannot be looked for in advance.
func TestAttack12_hashesChosenToLookEqual(t *testing.T) {
	seen := map[[8]byte]bool{}
	for i := range 8 {
		s := &Session{}
		s.own.nonce[0], s.theirs.nonce[0] = byte(i%4), byte(4+i/4)
		other := &Session{own: s.theirs, theirs: s.own}
		if s.checkOf([32]byte{1}) != other.checkOf([32]byte{1}) {
			t.Fatal("the sides do not agree")
		}
		seen[s.checkOf([32]byte{1})] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d of 8 checks", len(seen))
	}
}

func TestAttack13_announcementsThatNeverEnd(t *testing.T) {
	err := attack(t, config(newMemory(1, 1)), func(a *attacker) {
		a.greet()
		page := headsPage{heads: []Head{{Next: 1}}}
		for n := uint32(0); ; n++ {
			binary.BigEndian.PutUint32(page.heads[0].Log[:], n)
			a.write(frameHeads, page.append(nil))
			for k := kind(0); k != frameWant; { // it must be answered first
				var err error
				if k, _, err = readFrame(a.in, func() {}); err != nil || k == frameBye {
					return
				}
			}
		}
	})
	if !errors.Is(err, ErrPeer) {
		t.Errorf("got %v", err)
	}
}

// Frames that lie about sizes are refused without memory for what they claim.
func TestAttack14_sizesThatLie(t *testing.T) {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := z.EncodeAll(make([]byte, 64<<20), nil)
	inner := appendFrame(nil, framePacked, nil)
	huge := binary.AppendUvarint(nil, 1<<63)
	for name, sent := range map[string][]byte{
		"a bomb":              appendFrame(nil, framePacked, bomb),
		"packed in packed":    appendFrame(nil, framePacked, z.EncodeAll(inner, nil)),
		"not compressed":      appendFrame(nil, framePacked, []byte("abc")),
		"a long frame":        append([]byte{byte(frameRun)}, huge...),
		"a frame of 64 KiB+1": append([]byte{byte(frameRun)}, binary.AppendUvarint(nil, FrameMax+1)...),
		"a length not short":  {byte(frameRun), 0x80, 0x00},
		"many heads":          appendFrame(nil, frameHeads, append([]byte{1}, huge...)),
		"many wants":          appendFrame(nil, frameWant, append([]byte{1}, huge...)),
		"much credit":         appendFrame(nil, frameCredit, huge),
		"many entries":        appendFrame(nil, frameRun, append(make([]byte, 34), huge...)),
		"an unknown frame":    appendFrame(nil, 200, nil),
		"an empty run":        appendFrame(nil, frameRun, make([]byte, 1+32+1+1+64)),
		"a second hello":      appendFrame(nil, frameHello, (&hello{}).append(nil)),
		"a description":       appendFrame(nil, frameDescription, []byte("x")),
		"two tokens":          bytes.Repeat(appendFrame(nil, frameToken, []byte{1}), 2),
		"wants without heads": appendFrame(nil, frameWant, (&wants{wants: []want{{to: 1}}}).append(nil)),
	} {
		t.Run(name, func(t *testing.T) {
			err := attack(t, config(newMemory(1, 1)), greeted(func(a *attacker) { a.raw(sent) }))
			if !errors.Is(err, ErrPeer) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A peer that says little and slowly does not hold a session for ever.
func TestAttack14_slowPeer(t *testing.T) {
	for name, fn := range map[string]func(a *attacker){
		"silent":            func(a *attacker) { go a.drop() },
		"within the hello":  func(a *attacker) { go a.drop(); a.raw([]byte{byte(frameHello), 34, 1}) },
		"within a frame":    greeted(func(a *attacker) { a.raw([]byte{byte(frameRun), 200}) }),
		"after the hello":   func(a *attacker) { go a.drop(); a.write(frameHello, a.own.append(nil)) },
		"without reading":   func(a *attacker) { a.raw([]byte{byte(frameHello)}) },
		"with nothing more": greeted(func(*attacker) {}),
	} {
		t.Run(name, func(t *testing.T) {
			c := config(newMemory(1, 1))
			c.Patience = 20 * time.Millisecond
			if err := attack(t, c, fn); err == nil {
				t.Error("it ended well")
			}
		})
	}
}

// A peer cannot make a replica hold more than it gave credit for.
func TestAttack15_moreThanThereIsCreditFor(t *testing.T) {
	victim := newMemory(1, 1)
	err := attack(t, config(victim), greeted(func(a *attacker) {
		part := make([]byte, FrameMax)
		for range 2 + (window+(1<<20)+runOverhead+fork.SizeMax)/FrameMax {
			a.write(framePart, part)
		}
	}))
	if !errors.Is(err, ErrPeer) {
		t.Errorf("got %v", err)
	}
}

// Answers that a peer causes and does not read are bounded.
func TestAttack15_answersThatNobodyReads(t *testing.T) {
	s := New(config(newMemory(1, 1)))
	for range outMax/100 + 1 {
		s.send(frameRefused, make([]byte, 100))
	}
	if !errors.Is(s.failure(), ErrPeer) || len(s.out) > outMax {
		t.Errorf("%v, %d bytes", s.failure(), len(s.out))
	}
}

// What a peer announces and does not send is not forgotten: it is not acknowledged, and the next
// peer gives it.
func TestAttack17_entriesThatAreWithheld(t *testing.T) {
	victim, honest := newMemory(1, 1), newMemory(1, 2)
	_ = honest.Seal()
	heads, _, _, _ := honest.Announce(0, 10)
	acks := make(chan ack, 10)
	err := attack(t, config(victim), func(a *attacker) {
		a.greet()
		go func() {
			for {
				k, p, err := readFrame(a.in, func() {})
				if err != nil {
					return
				}
				if got, err := parseAck(p); err == nil && k == frameAck {
					acks <- got
				}
				if k == frameWant {
					m := mark{final: true, token: Token{Batch: 7}}
					a.write(frameMark, m.append(nil))
				}
			}
		}()
		page := headsPage{last: true, heads: heads}
		a.write(frameHeads, page.append(nil))
		<-acks
		a.write(frameBye, (&bye{}).append(nil))
	})
	if len(victim.tokens) > 0 {
		t.Errorf("it counts as complete: %v", err)
	}
	meet(t, victim, honest)
	equal(t, victim, honest)
}

// A server that was put back hands out what it had then; the rest comes from others, and it gets
// back what it has lost.
func TestAttack18_serverThatWasPutBack(t *testing.T) {
	server, a, b := newMemory(1, 1), newMemory(1, 2), newMemory(1, 3)
	a.write("first")
	meet(t, a, server)
	meet(t, b, server)
	old := newMemory(1, 4)
	old.name = server.name
	meet(t, b, old)
	a.write("second")
	meet(t, a, server)
	b.write("third")
	meet(t, b, server)
	for range 20 { // it catches up with the numbers of its former life
		old.write("x")
		_ = old.Seal()
	}
	meet(t, a, old)
	meet(t, b, old)
	meet(t, a, old)
	equal(t, a, b, old)
}
