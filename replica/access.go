package replica

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// MayRead reports whether replicas give what they have of the space to a device, as far as this one
// knows now: to the roots, to every device that holds a grant, and in a trusted space to all. It is
// all or nothing: a scope limits what a device may write, not what it is given.
func (s *Space) MayRead(tx *stoat.Tx, device DeviceID) (bool, error) {
	t, err := s.in(tx)
	if err != nil {
		return false, err
	}
	reason, err := t.mayRead(device)
	return reason == nil && err == nil, wrap(s.name, err)
}

// mayRead returns why a device may not read the space, or nil.
func (t *txn) mayRead(device DeviceID) (reason, err error) {
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return fmt.Errorf("%w: %w", session.ErrUnknown, ErrNotAllowed), nil
	}
	if err != nil || v.tree.Now(device, anyRight, "") {
		return nil, err
	}
	return fmt.Errorf("the device %s holds no grant in this space, or none that this replica knows: "+
		"a root must grant it Relay or more: %w", device, ErrNotAllowed), nil
}

// anyRight is what every grant includes.
const anyRight = 0

// MayRead implements session.Space.
func (e endpoint) MayRead(device [32]byte) (reason, err error) {
	err = e.view(func(t *txn) error {
		reason, err = t.mayRead(device)
		return err
	})
	return reason, err
}

// Denied implements session.Space.
func (e endpoint) Denied(reason error) { e.s.noteRefusal(EntryID{}, reason) }
