package session

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Config configures a session.
type Config struct {
	// Spaces are the replicas that the session may be about: exactly one, unless Accept is set.
	Spaces []Space
	// Accept waits for the peer to say which space the session is about. One side has to know.
	Accept bool
	// Once ends the session when both sides have what the other had.
	Once bool
	// FromCheckpoint makes a replica that is empty, or that goes by another checkpoint than others,
	// start from the last checkpoint of the peer, though the peer may have all entries.
	FromCheckpoint bool
	// Peer is the key of the peer; zero if anybody may be it.
	Peer [32]byte
	// Binding is what only the ends of the channel below know, such as the exporter of TLS; both
	// sides have the same, or none.
	Binding []byte
	// Admit returns an error if the session must not be had with a device, whose clock is so far
	// ahead of this side's. It may be nil.
	Admit func(space Space, key [32]byte, skew time.Duration) error
	// Number distinguishes the session from others of the same replica. It is not 0.
	Number uint64
	// Report is told how far the session is, by one goroutine at a time. It must not take long. It
	// may be nil.
	Report func(Status)
	// Patience is how long the peer may take for what it has begun. Default: a minute.
	Patience time.Duration
	// Reason returns what the peer is told of an error of a space, for which the session ends; empty:
	// nothing but that there was one. It may be nil.
	Reason func(error) string
	// Random is where nonces come from.
	Random io.Reader
}

// Session is one connection between two replicas of a space. Use it once, with [Session.Run].
type Session struct {
	config      Config
	conn        io.ReadWriteCloser
	in          *bufio.Reader
	own, theirs hello
	peer        *auth // after the handshake
	space       Space // the same
	skew        time.Duration
	offered     Position // how far this side's auth says that it has got
	whole       bool     // and that nothing is held back
	latest      uint64   // the time that this side told the peer
	asked       bool     // the peer for the description

	refused          map[entry.Hash]error // what the peer did not take, if this is for once
	reading, writing *watchdog
	source           source
	sink             sink
	access           access

	reporting sync.Mutex
	status    Status

	mu     sync.Mutex
	wake   chan struct{} // has an element if the writer has something to look at
	out    []byte        // frames to be written before everything else
	acks   []byte        // behind what else there is, since the peer may leave after them
	ending bool          // the last frame is in out
	err    error         // why the session ends, if it does not end well
	work   sync.WaitGroup
}

// New returns a session.
func New(config *Config) *Session {
	return &Session{config: *config, wake: make(chan struct{}, 1), sink: sink{granted: window}}
}

// outMax is the most bytes of frames that wait to be written. A peer that makes this side answer,
// and does not read the answers, reaches it.
const outMax = 512 << 10

// farewell is how long an ended session waits for the peer.
const farewell = 2 * time.Second

// Run has the session. It returns nil if both sides ended it, and closes the connection.
func (s *Session) Run(ctx context.Context, conn io.ReadWriteCloser) error {
	s.conn, s.in = conn, bufio.NewReaderSize(conn, readSize)
	s.reading = newWatchdog(conn, cmp.Or(s.config.Patience, patience))
	s.writing = newWatchdog(conn, cmp.Or(s.config.Patience, patience))
	s.reading.watch() // for the handshake
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	written := make(chan error, 1)
	go func() { // ends with the session, or with the connection
		err := s.write()
		if err != nil || s.failure() != nil {
			_ = conn.Close()
		}
		written <- err
	}()
	err := s.read()
	s.reading.rest()
	if err != nil {
		s.fail(err)
		// A peer that cannot write does not read why the session ends.
		s.work.Go(func() { _, _ = io.Copy(io.Discard, conn) })
	}
	timer := time.AfterFunc(farewell, func() { _ = conn.Close() })
	wrote := <-written
	s.reading.rest()
	timer.Stop()
	_ = conn.Close()
	s.work.Wait()
	if err := errors.Join(s.leave(), s.keep()); err != nil {
		s.fail(err)
	}
	switch failure := s.failure(); {
	case ctx.Err() != nil:
		return ctx.Err()
	case failure != nil && errors.Is(failure, io.ErrClosedPipe) && wrote != nil:
		return wrote
	case failure == nil:
		return s.refusals()
	default:
		return failure
	}
}

// read handles what the peer sends until it ends the session.
func (s *Session) read() error {
	if err := s.handshake(); err != nil {
		return err
	}
	if err := s.begin(); err != nil {
		return err
	}
	for {
		if s.reading.rest(); s.config.Once {
			s.await()
		}
		k, p, err := readFrame(s.in, s.reading.watch)
		if err != nil {
			if s.over() {
				return nil // the peer need not wait for an answer to the end
			}
			return err
		}
		if k == frameBye {
			return s.receiveBye(p)
		}
		if err := s.handle(k, p); err != nil {
			return err
		}
	}
}

// begin sends what follows the handshake.
func (s *Session) begin() error {
	may, err := s.mayRead()
	if err != nil {
		return err
	}
	var k reach
	if may {
		if k.token, err = s.space.Token(s.peer.database); err != nil {
			return err
		}
	}
	s.sink.token, s.sink.kept = k.token, k.token
	if may {
		if err := s.tellHolds(); err != nil {
			return err
		}
	}
	gaps, err := s.space.Gaps(1)
	if err != nil {
		return err
	}
	unfilled, err := s.space.Unfilled()
	if err != nil {
		return err
	}
	starts, err := s.starts()
	if err != nil {
		return err
	}
	theirs := hidePosition(s.space.ID(), k.token, &s.theirs, &s.own)
	k.all = k.token.Batch > 0 && theirs == s.peer.position && len(gaps) == 0 && unfilled == "" &&
		!starts
	if k.all {
		err = s.haveAll()
	}
	if k.few = !may || s.offered.Arrival <= compareMin/8; !k.few && !k.all {
		if k.time, err = s.space.Latest(); err != nil {
			return err
		}
		s.latest = k.time
	}
	s.report(func(now *Status) { now.CaughtUp = s.sink.caughtUp })
	s.send(frameToken, k.append(nil))
	if err == nil && starts {
		s.askForCheckpoint()
	}
	return err
}

// handle handles a frame. Nothing in it takes long: the peer's entries are merged elsewhere.
func (s *Session) handle(k kind, p []byte) (err error) {
	switch k {
	case frameDescription:
		if !s.asked {
			return broken("a description that nobody asked for")
		}
		s.asked = false
		if err := s.space.Describe(p); err != nil {
			return err
		}
		_, err := s.mayRead()
		return err
	case frameToken:
		err = s.receiveToken(p)
	case frameHeads:
		err = s.receiveHeads(p)
	case frameRanges:
		err = s.receiveRanges(p)
	case frameOpen:
		err = s.receiveOpen(p)
	case frameWant:
		err = s.receiveWants(p)
	case frameFetch:
		err = s.receiveFetch(p)
	case frameCredit:
		err = s.receiveCredit(p)
	case framePart, frameRun, frameProof, frameCheckpoint, frameChunk:
		err = s.receiveWhole(k, p)
	case frameMark:
		err = s.receiveMark(p)
	case frameAck:
		err = s.receiveAck(p)
	case frameRefused:
		err = s.receiveRefused(p)
	case frameDenied:
		err = s.receiveDenied(p)
	case frameHolds:
		err = s.receiveHolds(p)
	case framePacked:
		return s.unpack(p) // may end with an error of the space
	default:
		err = broken("a frame of type %d", k)
	}
	if err != nil && !errors.Is(err, ErrPeer) {
		err = broken("a frame of type %d: %w", k, err)
	}
	return err
}

// expect reads a frame of a type, in the handshake.
func (s *Session) expect(want kind) ([]byte, error) {
	k, p, err := readFrame(s.in, func() {})
	if err == nil && k == frameBye {
		if err = s.receiveBye(p); err == nil {
			err = errEarly
		}
	}
	if err == nil && k != want {
		err = broken("a frame of type %d instead of %d", k, want)
	}
	return p, err
}

// errEarly reports a peer that ended the session before it had what it was about.
var errEarly = errors.New("the peer ended the session early")

// ErrRefused reports that the peer ended the session, and why.
var ErrRefused = errors.New("the peer ended the session")

// ErrPruned reports entries that a checkpoint covers, and that the replica does not have any more.
// The peer is told.
var ErrPruned = errors.New("the entries were pruned here: take them from another replica")

// receiveBye handles the end of the session.
func (s *Session) receiveBye(p []byte) error {
	b, err := parseBye(p)
	if err != nil {
		return broken("its last frame: %w", err)
	}
	if err := s.denial(); b.failed && err != nil {
		return err
	}
	if b.failed {
		return fmt.Errorf("%w: %s", ErrRefused, printable(b.reason))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.config.Once && !s.ending && !s.doneLocked() {
		s.err = errEarly
	}
	s.endLocked(&bye{})
	return nil
}

// printable returns a text of the peer as it may be shown.
func printable(text string) string { return fmt.Sprintf("%q", text) }

// fail ends the session with an error, and tells the peer if that is of use to it.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.ending {
		s.err = err
	}
	s.endLocked(&bye{failed: true, reason: s.reasonOf(err)})
}

// reasonOf returns what the peer is told of an error.
func (s *Session) reasonOf(err error) string {
	if errors.As(err, new(*admitError)) {
		return s.ownReason(err)
	}
	for _, told := range []error{ErrPeer, ErrPeerKey, errInvalid, ErrPruned, ErrNotAllowed, ErrNoSpace,
		ErrWithheld, entry.ErrNewer} {
		if errors.Is(err, told) {
			return err.Error()
		}
	}
	return s.ownReason(err)
}

// ownReason returns what the peer is told of an error that may say what it must not know.
func (s *Session) ownReason(err error) string {
	if s.config.Reason != nil {
		if reason := s.config.Reason(err); reason != "" {
			return reason
		}
	}
	return "an error of its own, which it reports where it runs"
}

// endLocked queues the last frame.
func (s *Session) endLocked(b *bye) {
	if !s.ending {
		s.out, s.acks = append(s.out, s.acks...), nil
	}
	s.sendLocked(frameBye, b.append(nil))
	s.ending = true
	s.wakeLocked()
}

// failure returns why the session ends, if it does not end well.
func (s *Session) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// over reports whether this side has ended the session well.
func (s *Session) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ending && s.err == nil
}

// maybeEndLocked ends a session that was for once, if one side gives nothing, or has the writer
// look whether both sides have everything.
func (s *Session) maybeEndLocked() {
	if !s.config.Once || s.ending {
		return
	}
	if s.doneLocked() {
		s.wakeLocked()
	} else if err := s.denialLocked(); err != nil {
		s.err = err
		s.endLocked(&bye{failed: true, reason: err.Error()})
	}
}

// doneLocked reports whether both sides have everything.
func (s *Session) doneLocked() bool { return s.source.acknowledged && s.sink.caughtUp }

// finish ends a session that was for once, if both sides have everything, and reports whether it
// did. The writer calls it when it has nothing to write: the last that it wrote may be a mark, by
// which the peer knows that it has what it has given.
func (s *Session) finish() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.config.Once || s.ending || !s.doneLocked() || s.sink.busy || len(s.acks) > 0 {
		return false
	}
	s.endLocked(&bye{})
	return true
}
