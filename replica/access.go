package replica

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// MayRead reports whether replicas give anything of the space to a device, as far as this one knows
// now: to the roots, to every device that holds a grant, and in a trusted space to all. All of
// these are given everything except the content of collections that they may not read: see
// [Space.MayReadCollection].
func (s *Space) MayRead(tx *stoat.Tx, device DeviceID) (bool, error) {
	t, err := s.in(tx)
	if err != nil {
		return false, err
	}
	reason, err := t.mayRead(device)
	return reason == nil && err == nil, wrap(s.name, err)
}

// MayReadCollection reports whether replicas give the content of a collection to a device, as far
// as this one knows now: if a grant of Read or more includes some of the collection, to the roots,
// and in a trusted space to all. Others are told who changed it, when, by how many bytes, and the
// hash of what they wrote, which is salted once any grant is narrower than reading everything.
func (s *Space) MayReadCollection(tx *stoat.Tx, device DeviceID, collection string) (bool, error) {
	t, err := s.in(tx)
	if err != nil {
		return false, err
	}
	v, err := t.rights()
	if errors.Is(err, errUndescribed) {
		return false, nil
	}
	if err != nil {
		return false, wrap(s.name, err)
	}
	return v.tree.Now(device, entry.RightRead, collection), nil
}

// withhold takes what a reader may not read, or does not ask for, out of the entries of a run. A
// reader that is nil is given what is here. The error is session.ErrLacking if the reader should
// have content that is not here.
func (t *txn) withhold(r *run, to *session.Reader) error {
	if to == nil {
		return nil
	}
	v, err := t.rights()
	if err != nil {
		return err
	}
	everything := to.All && v.tree.Everywhere(to.Device, entry.RightRead)
	lacks, err := t.lacks()
	if err != nil || everything && len(lacks) == 0 {
		return err
	}
	gives := map[string]bool{}
	for i := range r.entries {
		e, err := entry.Parse(r.entries[i])
		if err != nil {
			return fmt.Errorf("entry %d of log %s: %w: %w", r.first+uint64(i), r.log, err,
				stoat.ErrCorrupt)
		}
		changed := false
		for j := range e.Parts {
			part := &e.Parts[j]
			give, known := gives[part.Group]
			if !known {
				give = part.Group == "" ||
					to.Asks(part.Group) && v.tree.Now(to.Device, entry.RightRead, part.Group)
				gives[part.Group] = give
			}
			if give && part.Withheld != nil {
				return session.ErrLacking
			}
			if !give && part.Withheld == nil {
				part.Withhold()
				changed = true
			}
		}
		if changed {
			r.entries[i] = e.Append(nil)
		}
	}
	return nil
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
func (e endpoint) Denied(peer [32]byte, reason error) {
	e.s.noteRefusal(peer, EntryID{}, reason)
}
