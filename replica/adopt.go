package replica

import (
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Adopted is what [Space.Adopt] did.
type Adopted struct {
	Entries int // that were issued again
	Before  int // that had been issued again before, by any device, and count
	// Withheld is how many parts of entries cannot be issued again here, because this replica does
	// not have their content.
	Withheld int
	// Left is how many acts behind a fork were not made again: they are of another device, or this
	// device may not do that any more, or the clock here is behind them, or what they were about is
	// gone, or a grant to the same device was revoked since.
	Left int
}

// Adopt issues the entries of a log from one up to another one again, in the log of this replica,
// as far as they do not count: the work of a device that was revoked while it was offline, or a
// branch of a forked log. The device of this replica answers for them and needs the right to write
// them. What they do happens now, after everything that this replica has seen.
//
// Acts, such as grants, are made again only if they are behind a fork of a log of this device, and
// the device may make them now. They are judged as if they were made now.
//
// An entry that was adopted before is not adopted again. If two devices adopt the same without
// knowing of each other, it counts once.
//
// After an error, nothing is adopted: if some of it was already, the transaction cannot commit.
func (s *Space) Adopt(tx *stoat.Tx, log LogID, from, to uint64) (Adopted, error) {
	var a Adopted
	if err := s.confine(tx); err != nil {
		return a, err
	}
	t, err := s.in(tx)
	if err == nil {
		err = t.allOrNone(func() (err error) {
			a, err = t.adopt(entry.Hash(log), from, to)
			return err
		})
	}
	if err != nil {
		return Adopted{}, wrap(s.name, err)
	}
	return a, nil
}

func (t *txn) adopt(log entry.Hash, from, to uint64) (a Adopted, err error) {
	number, known, err := t.logNumber(log)
	if err == nil && !known {
		err = fmt.Errorf("there is no log %s", log)
	}
	if err != nil {
		return a, err
	}
	h, err := t.head(number)
	if err != nil {
		return a, err
	}
	for seq := from; seq < min(to, h.next); seq++ {
		v, err := t.voided(number, seq)
		if err == nil && v.alone != 0 {
			err = t.adoptEntry(h, seq, v.alone, &a)
		}
		if err != nil {
			return a, fmt.Errorf("adopt entry %d of log %s: %w", seq, log, err)
		}
	}
	return a, t.adoptBranchActs(h, from, to, &a)
}

// adoptEntry adopts those parts of an entry that do not count, and have no repeat that does.
func (t *txn) adoptEntry(h *head, seq uint64, void partSet, a *Adopted) error {
	o, err := t.orphan(h, seq)
	if err != nil {
		return err
	}
	if o.entry.Kind == entry.KindControl && h.voids(seq) {
		return t.adoptAct(h, o.entry, a)
	}
	if o.entry.Kind != entry.KindData {
		return nil
	}
	if _, err := parseParts(o.entry); err != nil {
		return nil // nothing can be saved: void entries are not checked when they are stored
	}
	var parts []entry.Part
	withheld := a.Withheld
	for i := range o.entry.Parts {
		part := &o.entry.Parts[i]
		if !void.has(i) || part.Broken != nil {
			continue
		}
		if part.Withheld != nil {
			a.Withheld++
			continue
		}
		repeated, err := t.repeated(&o.origin, part)
		if err != nil {
			return err
		}
		if !repeated {
			parts = append(parts, *part)
		}
	}
	if len(parts) == 0 {
		if a.Withheld == withheld {
			a.Before++
		}
		return nil
	}
	a.Entries++
	return t.makeEntry(&entry.Entry{Kind: entry.KindData, Origin: &o.origin, Parts: parts})
}
