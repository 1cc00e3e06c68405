package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// The domains that the hashes and signatures of a session begin with.
const (
	domainAuth     = "stoat.replica.session.v1"
	domainHidden   = "stoat.replica.hidden.v1"
	domainPosition = "stoat.replica.position.v1"
	domainCheck    = "stoat.replica.check.v1"
)

// Errors of the handshake. Messages say more.
var (
	// ErrNoSpace reports a peer that has none of the spaces that it could have been about.
	ErrNoSpace = errors.New("the replicas have no space in common")
	// ErrPeerKey reports a peer that is not the expected one, or does not expect this one.
	ErrPeerKey = errors.New("not the expected peer")
)

// handshake finds out who the peer is, and the space.
func (s *Session) handshake() error {
	if _, err := io.ReadFull(s.config.Random, s.own.nonce[:]); err != nil {
		return fmt.Errorf("make a nonce: %w", err)
	}
	s.send(frameHello, s.own.append(nil))
	p, err := s.expect(frameHello)
	if err != nil {
		return err
	}
	theirs, err := parseHello(p)
	if err != nil && !errors.Is(err, ErrPeer) && !errors.Is(err, entry.ErrNewer) {
		err = broken("its hello: %w", err)
	}
	if err != nil {
		return err
	}
	s.theirs = *theirs
	if s.theirs.nonce == s.own.nonce {
		return broken("it repeats what it hears")
	}
	if !s.config.Accept {
		if err := s.open(s.config.Spaces[0], s.config.Peer); err != nil {
			return err
		}
	}
	if p, err = s.expect(frameAuth); err != nil {
		return err
	}
	a, err := parseAuth(p)
	if err != nil {
		return broken("its auth: %w", err)
	}
	if err := s.check(a); err != nil {
		return err
	}
	s.peer = a
	s.source.reader = Reader{Device: a.key, All: true}
	if s.config.Accept {
		return s.open(s.space, a.key)
	}
	return nil
}

// open sets the space, and tells the peer who speaks for it.
func (s *Session) open(space Space, audience [keySize]byte) error {
	described, err := space.Description()
	if err != nil {
		return err
	}
	at, whole, err := space.Position()
	if err != nil {
		return err
	}
	s.space, s.asked, s.offered, s.whole = space, described == nil, at, whole
	a := &auth{hidden: hide(space.ID(), &s.own, &s.theirs), key: space.Key(),
		database: space.Database(), clock: uint64(max(0, space.Now().UnixMilli())),
		position: hidePosition(space.ID(), at.Token, &s.own, &s.theirs)}
	if s.asked {
		a.flags = flagAsks
	}
	if audience != ([keySize]byte{}) {
		a.flags |= flagOnly
	}
	if whole {
		a.flags |= flagWhole
	}
	a.signature = space.Sign(a.message(space.ID(), audience, &s.own, &s.theirs, s.config.Binding))
	s.send(frameAuth, a.append(nil))
	return nil
}

// check checks the auth of the peer, and finds the space of a session that accepts several.
func (s *Session) check(a *auth) error {
	var found Space
	for _, space := range s.config.Spaces {
		want := hide(space.ID(), &s.theirs, &s.own)
		if subtle.ConstantTimeCompare(want[:], a.hidden[:]) == 1 {
			found = space
		}
	}
	if found == nil {
		return ErrNoSpace
	}
	var audience, zero [keySize]byte
	if a.key == zero {
		return broken("its key is none: anybody can sign with it")
	}
	if a.flags&flagOnly != 0 {
		audience = found.Key()
	}
	message := a.message(found.ID(), audience, &s.theirs, &s.own, s.config.Binding)
	if valid := seal.Verify(&a.key, message, &a.signature); !valid && audience != zero {
		return fmt.Errorf("%w: it wants another device, or this is not its connection", ErrPeerKey)
	} else if !valid {
		return fmt.Errorf("%w: its signature does not fit this connection", ErrPeer)
	}
	if s.config.Peer != zero && a.key != s.config.Peer {
		return fmt.Errorf("%w: it is %x", ErrPeerKey, a.key)
	}
	s.space, s.skew = found, skewOf(a.clock, found.Now())
	if s.config.Admit == nil {
		return nil
	}
	if err := s.config.Admit(found, a.key, s.skew); err != nil {
		return &admitError{err}
	}
	return nil
}

// admitError is an error of Config.Admit. Whatever it wraps, Config.Reason says what the peer is
// told of it.
type admitError struct{ error }

// Unwrap returns the error.
func (e *admitError) Unwrap() error { return e.error }

// message returns what the signature of an auth signs: everything that both sides have said, the
// device that it is meant for, zero for any, and the channel that they said it over.
func (a *auth) message(
	space entry.Hash, audience [keySize]byte, own, theirs *hello, binding []byte,
) []byte {
	p := append([]byte(domainAuth), space[:]...)
	p = theirs.append(own.append(append(p, audience[:]...)))
	bound := sha256.Sum256(binding)
	return a.appendSigned(append(p, bound[:]...))
}

// hide returns what names a space in one direction of one connection, to those who know the space.
func hide(space entry.Hash, own, theirs *hello) [32]byte {
	p := append([]byte(domainHidden), space[:]...)
	p = append(append(p, own.nonce[:]...), theirs.nonce[:]...)
	return sha256.Sum256(p)
}

// hidePosition returns what tells how far a replica has got, in one direction of one connection, to
// those who have a token for exactly that.
func hidePosition(space entry.Hash, at Token, own, theirs *hello) (position [positionSize]byte) {
	p := append([]byte(domainPosition), space[:]...)
	p = append(append(p, own.nonce[:]...), theirs.nonce[:]...)
	p = append(binary.BigEndian.AppendUint64(p, at.Batch), at.Digest[:]...)
	sum := sha256.Sum256(p)
	copy(position[:], sum[:])
	return position
}

// checkOf returns what names the last entry of a log in this session: under fresh nonces of both
// sides, so that nobody can choose entries for which it is the same.
func (s *Session) checkOf(hash entry.Hash) (check [8]byte) {
	a, b := s.own.nonce[:], s.theirs.nonce[:]
	if string(a) > string(b) {
		a, b = b, a
	}
	var room [128]byte
	p := append(append(append(room[:0], domainCheck...), a...), b...)
	sum := sha256.Sum256(append(p, hash[:]...))
	copy(check[:], sum[:])
	return check
}
