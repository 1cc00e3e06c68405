package replica

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/seal"
)

// problemsMax is the most problems that Verify reports.
const problemsMax = 20

// Verify checks all entries of the space again, as if they came from a peer: their bytes, that they
// form chains, and their seals. It returns the first problems, which are stoat.ErrCorrupt. It calls
// done after each log, with the number of its entries.
func (s *Space) Verify(ctx context.Context, tx *stoat.Tx, done func(entries uint64)) error {
	t, err := s.in(tx)
	if err != nil {
		return wrap(s.name, err)
	}
	var problems []error
	for h, err := range t.eachHead() {
		if err == nil {
			err = t.verifyLog(ctx, h)
		}
		if err = errors.Join(err, ctx.Err()); err != nil && !errors.Is(err, stoat.ErrCorrupt) {
			return wrap(s.name, err)
		}
		if err != nil {
			problems = append(problems, err)
		}
		if h == nil || len(problems) == problemsMax {
			break
		}
		done(h.next)
	}
	return wrap(s.name, errors.Join(problems...))
}

// verifyLog checks a log, and returns its first problem.
func (t *txn) verifyLog(ctx context.Context, h *head) error {
	damaged := func(seq uint64, what string) error {
		return fmt.Errorf("log %s, entry %d: %s: %w", h.id, seq, what, stoat.ErrCorrupt)
	}
	at := entry.Place{Space: t.space.id, Log: h.id}
	var latest hlc.Time
	first := true
	for key, p := range t.entries.Scan(stoat.Prefix(keyed(nil, "", h.number))) {
		if len(key) != 12 || len(p) < len(at.Prev) {
			return damaged(at.Seq, "it is not in the form of this package")
		}
		seq := binary.BigEndian.Uint64(key[4:])
		if !first && seq != at.Seq {
			return damaged(at.Seq, "it is missing")
		}
		e, err := entry.Parse(p[len(at.Prev):])
		if err != nil {
			return damaged(seq, err.Error())
		}
		stored := entry.Hash(p[:len(at.Prev)])
		place := at
		if seq == 0 {
			place.Log = entry.Hash{}
		}
		switch at.Seq = seq; {
		case first && seq > 0: // what precedes it was pruned
		case e.Hash(&place) != stored:
			return damaged(seq, "its hash is another one")
		case seq == 0 && stored != h.id:
			return damaged(seq, "it does not begin this log")
		}
		if e.Time <= latest {
			return damaged(seq, "its time is not after that of the entry before it")
		}
		if err := t.verifySeal(h, seq, &stored); err != nil {
			return damaged(seq, err.Error())
		}
		if seq%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at.Seq, at.Prev, latest, first = seq+1, stored, e.Time, false
	}
	if err := t.tx.Err(); err != nil {
		return err
	}
	if at.Seq != h.next || at.Prev != h.hash || latest != h.time {
		return damaged(at.Seq, "the log has another end")
	}
	return nil
}

// verifySeal checks the seal of an entry, if it has one.
func (t *txn) verifySeal(h *head, seq uint64, hash *entry.Hash) error {
	sig, err := t.meta.Get(entryKey(nil, prefixSeal, h.number, seq))
	switch {
	case errors.Is(err, stoat.ErrNotFound) && seq+1 != h.sealed:
		return nil
	case errors.Is(err, stoat.ErrNotFound):
		return errors.New("its seal is missing")
	case err != nil:
		return err
	case len(sig) != seal.Size:
		return errors.New("its seal has another size")
	}
	message := entry.AppendSealed(nil, &t.space.id, &h.id, seq, hash)
	if !seal.Verify((*[seal.KeySize]byte)(&h.device), message, (*[seal.Size]byte)(sig)) {
		return errors.New("its seal is not by the device of the log")
	}
	return nil
}
