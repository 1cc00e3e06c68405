package replica

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// Errors of sessions.
var (
	// ErrPeer reports a peer that does not keep to the protocol.
	ErrPeer = session.ErrPeer
	// ErrPeerKey reports a peer that is another device than the one expected, or that expects
	// another one.
	ErrPeerKey = session.ErrPeerKey
	// ErrNoSpace reports a peer that has another space.
	ErrNoSpace = session.ErrNoSpace
	// ErrEnded reports that the peer ended the session for a reason, which the message has.
	ErrEnded = session.ErrRefused
	// ErrNotTaken reports a peer that did not take some entries of this replica. The message says
	// why: they may be not valid, or more than the peer takes of a device, or come without content
	// that it needs.
	ErrNotTaken = session.ErrNotTaken
	// ErrWithheld reports a peer that offered a checkpoint, and does not give all of its state. What
	// it gave is kept, and another peer may give the rest.
	ErrWithheld = session.ErrWithheld
)

// SyncOptions configures [Sync] and [Accept].
type SyncOptions struct {
	// Once ends the session as soon as both replicas have what the other had. Otherwise it lasts as
	// long as the connection, and what is written on one side arrives on the other at once.
	Once bool
	// FromCheckpoint makes a replica that has nothing yet start from the last checkpoint of the peer
	// even if that has all entries. It takes the state instead of the history, which is less. A
	// replica whose peer has pruned what it lacks does so anyway. Whoever had the right to make the
	// checkpoint is believed. A replica whose [Status.Split] has devices does so, too: it goes over to
	// the checkpoint of the peer.
	FromCheckpoint bool
	// Peer is the device that the other side must be. Zero: any device. Set it, unless the
	// connection proves who the peer is. A [Conn] does, and sets Binding, too.
	Peer DeviceID
	// Binding is what only the two ends of an encrypted connection know: for TLS, what
	// ConnectionState.ExportKeyingMaterial returns for the label "EXPORTER-stoat-replica", without
	// context, 32 bytes. With it, nobody can pass the handshake on from another connection. Both
	// sides must set it, or neither.
	Binding []byte
	// Admit is asked whether to have a session with a device that has proven who it is. An error
	// ends the session, and is for the peer: it is told the text of an error that wraps no other, as
	// of errors.New. Of one that wraps another, which may be of a file or a database, it is told only
	// that it is not admitted.
	Admit func(s *Space, peer DeviceID) error
	// OnStatus is told how far the session is, whenever that changes, by one goroutine at a time.
	// It must not take long.
	OnStatus func(s SyncStatus)
}

// SyncStatus is how far a session is.
type SyncStatus struct {
	Peer DeviceID
	// Skew is how far the peer's clock is ahead of this replica's. What is written by a clock that
	// is more than five minutes ahead waits at others.
	Skew time.Duration
	// Sent and Received are entries; those that were received may wait for others, or be refused.
	Sent, Received uint64
	// CaughtUp says that everything the peer had when the session began is durable here, except
	// what waits or was refused. Acknowledged is the same of the peer.
	CaughtUp, Acknowledged bool
	// ChunksLacking is how many chunks, of some 64 KiB each, are still to come of the checkpoint that
	// the replica starts from.
	ChunksLacking uint64
	// Refused is why the peer did not take an entry, the last time that it did not. It is quoted.
	Refused string
	// Denied is why the peer gives nothing: what grant this device needs. It is quoted, and empty
	// while the peer does.
	Denied string
}

// Sync brings a replica and the one at the other end of conn together: each takes what it lacks,
// verifies it and merges it. Both sides do the same. Unless opts says Once, they then stay
// together, until the context or the connection ends. It closes conn.
//
// The devices prove to each other who they are. Sync does not encrypt: conn must. What was merged
// stays, whenever the session ends; the next one continues from there. Nothing leaves a replica
// before it is sealed and durable, and whatever a peer acknowledges is durable there.
//
// A replica takes what any device brings, and judges each entry by itself. It gives only to devices
// that hold a right in the space: see [Space.MayRead]. What a device brings may have its grant.
//
// Sync returns nil if the peer ended the session, having everything. With Once, it returns
// [ErrNotAllowed] if one side may not read, and [ErrNotTaken] if the peer has refused entries; all
// others were taken. It returns [ErrAhead] if the peer has taken everything, and what this device
// wrote does not count there yet.
func Sync(ctx context.Context, s *Space, conn io.ReadWriteCloser, opts *SyncOptions) error {
	config := &session.Config{Spaces: []session.Space{endpoint{s}}}
	return wrap(s.name, runSession(ctx, config, conn, opts))
}

// Accept is [Sync] for a side that has several spaces, and learns from the peer which one it is
// about. The peer calls Sync, which proves that it knows the space; to others, Accept says nothing.
func Accept(
	ctx context.Context, spaces []*Space, conn io.ReadWriteCloser, opts *SyncOptions,
) error {
	config := &session.Config{Accept: true}
	for _, s := range spaces {
		config.Spaces = append(config.Spaces, endpoint{s})
	}
	return runSession(ctx, config, conn, opts)
}

// runSession has a session.
func runSession(
	ctx context.Context, config *session.Config, conn io.ReadWriteCloser, opts *SyncOptions,
) error {
	if opts == nil {
		opts = &SyncOptions{}
	}
	var met met
	if c, ok := conn.(*Conn); ok {
		if opts.Peer != (DeviceID{}) && opts.Peer != c.peer {
			return errors.Join(fmt.Errorf("%w: %s instead of %s", ErrPeerKey, c.peer, opts.Peer),
				conn.Close())
		}
		met.peer = c.peer
	}
	if !config.Accept {
		met.space = config.Spaces[0].(local).replica()
	}
	if err := met.configure(config, opts); err != nil {
		return errors.Join(err, conn.Close())
	}
	if c, ok := conn.(*Conn); ok {
		config.Peer, config.Binding = c.peer, c.binding[:]
	}
	for _, space := range config.Spaces {
		s := space.(local).replica()
		defer s.part(config.Number)
		if s.device == nil {
			_ = conn.Close()
			return errNoDevice
		}
		defer s.follow()()
	}
	err := toWrite(unnamed(session.New(config).Run(ctx, conn)))
	if met.space != nil {
		met.space.noteEnd(met.peer, err)
	}
	if err == nil && opts.Once && met.space != nil {
		err = met.space.takenBy(met.skew)
	}
	return err
}

// met is what is known of the two sides of a session: more, once the peer has proven who it is.
type met struct {
	space *Space   // that it is about; nil: not known yet
	peer  DeviceID // zero: not known yet
	skew  time.Duration
}

// configure sets how to have a session, and notes who is met.
func (m *met) configure(config *session.Config, opts *SyncOptions) error {
	config.Once, config.Peer, config.Binding = opts.Once, opts.Peer, opts.Binding
	config.FromCheckpoint = opts.FromCheckpoint
	config.Random, config.Reason = rand.Reader, reasonOf
	var number [8]byte
	if _, err := rand.Read(number[:]); err != nil {
		return err
	}
	config.Number = binary.BigEndian.Uint64(number[:]) | 1
	config.Admit = func(space session.Space, key [32]byte, ahead time.Duration) error {
		s := space.(local).replica()
		if opts.Admit != nil {
			if err := opts.Admit(s, key); err != nil {
				return &objection{errUnwelcome, err}
			}
		}
		s.meet(config.Number, key)
		m.space, m.peer, m.skew = s, key, ahead
		return s.noteClock(key, ahead)
	}
	if opts.OnStatus != nil {
		config.Report = func(now session.Status) {
			opts.OnStatus(SyncStatus{DeviceID(now.Peer), now.Skew, now.Sent, now.Received, now.CaughtUp,
				now.Acknowledged, now.ChunksLacking, now.Refused, now.Denied})
		}
	}
	return nil
}

// follow makes commits wake the sessions of the space, until the function that it returns is
// called.
func (s *Space) follow() (end func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.followers++; s.followers == 1 {
		ctx, cancel := context.WithCancel(context.Background())
		s.unfollow = cancel
		go s.watch(ctx) // ends with the last session
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.followers--; s.followers == 0 {
			s.unfollow()
		}
	}
}

// watchPause is how long watch waits after an error that may pass.
const watchPause = time.Second

// watch wakes the sessions of the space when the head of a log changes, which every commit to the
// space does.
func (s *Space) watch(ctx context.Context) {
	path := [][]byte{[]byte(rootBucket), []byte(s.name)}
	for again := true; again && ctx.Err() == nil; {
		from := s.db.Position()
		s.chronicle.wake() // what came before
		var ended error
		for _, ended = range s.db.WatchBucket(ctx, path, stoat.Prefix([]byte(prefixLog)), from) {
			s.chronicle.wake()
		}
		if again = watchAgain(ended); again && !errors.Is(ended, stoat.ErrLagged) {
			select {
			case <-ctx.Done():
			case <-time.After(watchPause):
			}
		}
	}
}

// watchAgain reports whether there may be changes yet, though watching them ended with an error:
// otherwise sessions would miss them for good.
func watchAgain(ended error) bool {
	return !errors.Is(ended, stoat.ErrClosed) && !errors.Is(ended, stoat.ErrBucketNotFound) &&
		!errors.Is(ended, stoat.ErrReadOnly)
}
