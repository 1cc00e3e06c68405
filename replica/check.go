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
	if err := t.verifyEvidence(ctx); err != nil && !errors.Is(err, stoat.ErrCorrupt) {
		return wrap(s.name, err)
	} else if err != nil {
		problems = append(problems, err)
	}
	return wrap(s.name, errors.Join(problems...))
}

// verifyLog checks a log, and returns its first problem. Behind the cut of a fork, it checks the
// chain and the seals only: nothing else was checked when these entries were stored.
func (t *txn) verifyLog(ctx context.Context, h *head) error {
	at := entry.Place{Space: t.space.id, Log: h.id}
	var latest hlc.Time
	known := true // the hash of the entry before; it may have been pruned
	for ; at.Seq < h.next; at.Seq++ {
		e, hash, err := t.verifyEntry(&at, h.number, known)
		if errors.Is(err, ErrPruned) {
			if at.Seq, err = t.skipPruned(&at, h); err != nil {
				return err
			}
			known = false
			continue
		}
		if err == nil && e.Time <= latest && !h.voids(at.Seq) {
			err = errors.New("its time is not after that of the entry before it")
		}
		if err == nil && hash != (entry.Hash{}) {
			err = t.verifySeal(h, at.Seq, &hash)
		}
		if err != nil {
			return fmt.Errorf("log %s, entry %d: %w: %w", h.id, at.Seq, err, stoat.ErrCorrupt)
		}
		if at.Seq%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		known = known || hash != entry.Hash{}
		at.Prev = hash
		if !h.voids(at.Seq) {
			latest = e.Time
		}
	}
	if known && at.Prev != h.hash || latest != h.time && !h.voids(h.next-1) || latest > h.time {
		return fmt.Errorf("log %s, entry %d: the log has another end: %w", h.id, h.next-1,
			stoat.ErrCorrupt)
	}
	return nil
}

// skipPruned returns the seq of the last of the entries that are missing from one on.
func (t *txn) skipPruned(at *entry.Place, h *head) (seq uint64, err error) {
	next := h.next
	from := stoat.Range{Start: entryKey(nil, "", h.number, at.Seq+1),
		End: entryKey(nil, "", h.number, h.next), Limit: 1}
	for key := range t.entries.Keys(from) {
		next = binary.BigEndian.Uint64(key[4:])
	}
	return next - 1, t.tx.Err()
}

// verifyEntry checks an entry and returns its hash; if the hash of the entry before it is not
// known, or only a stub is left, it returns the one that is kept, or zero.
func (t *txn) verifyEntry(at *entry.Place, log uint32, known bool) (
	e *entry.Entry, hash entry.Hash, err error,
) {
	k, err := t.kept(spot{log, at.Seq})
	if err == nil {
		e, err = t.parseKept(spot{log, at.Seq}, &k)
	}
	if err != nil || !known || k.flags&keptHash != 0 && k.notStub() != nil {
		return e, k.hash, err
	}
	place := *at
	if at.Seq == 0 {
		place.Log = entry.Hash{}
	}
	hash = e.Hash(&place)
	switch {
	case k.flags&keptHash != 0 && k.hash != hash:
		err = errors.New("its hash is another one")
	case at.Seq == 0 && hash != at.Log:
		err = errors.New("it does not begin this log")
	}
	return e, hash, err
}

// verifySeal checks the seal of an entry, if it has one.
func (t *txn) verifySeal(h *head, seq uint64, hash *entry.Hash) error {
	sig, err := t.meta.Get(entryKey(nil, prefixSeal, h.number, seq))
	switch {
	case missing(err):
		if seq+1 != h.sealed {
			return nil
		}
		hz, err := t.horizonOf()
		if err == nil && (hz == nil || hz.covers[h.number] != h.sealed) {
			err = errors.New("its seal is missing")
		}
		return err
	case err != nil:
		return err
	case len(sig) != seal.Size:
		return errors.New("its seal has another size")
	}
	at := entry.Place{Space: t.space.id, Log: h.id, Seq: seq, Prev: *hash}
	return t.space.checkSeal(h.device, &at, (*[seal.Size]byte)(sig))
}
