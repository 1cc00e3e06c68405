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
	at := entry.Place{Space: t.space.id, Log: h.id}
	for key := range t.entries.Keys(stoat.Range{Start: entryKey(nil, "", h.number, 0), Limit: 1}) {
		if len(key) == 12 && binary.BigEndian.Uint32(key) == h.number {
			at.Seq = binary.BigEndian.Uint64(key[4:])
		}
	}
	var latest hlc.Time
	known := at.Seq == 0 // the hash of the entry before; it may have been pruned
	for ; at.Seq < h.next; at.Seq++ {
		e, hash, err := t.verifyEntry(&at, h.number, known)
		if err == nil && e.Time <= latest {
			err = errors.New("its time is not after that of the entry before it")
		}
		if err == nil && known {
			err = t.verifySeal(h, at.Seq, &hash)
		}
		if err != nil {
			return fmt.Errorf("log %s, entry %d: %w: %w", h.id, at.Seq, err, stoat.ErrCorrupt)
		}
		if at.Seq%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		known = known || hash != entry.Hash{}
		at.Prev, latest = hash, e.Time
	}
	if known && at.Prev != h.hash || latest != h.time {
		return fmt.Errorf("log %s, entry %d: the log has another end: %w", h.id, h.next-1,
			stoat.ErrCorrupt)
	}
	return nil
}

// verifyEntry checks an entry and returns its hash; if the hash of the entry before it is not
// known, it returns the one that is kept, or zero.
func (t *txn) verifyEntry(at *entry.Place, log uint32, known bool) (
	e *entry.Entry, hash entry.Hash, err error,
) {
	k, err := t.kept(spot{log, at.Seq})
	if err == nil {
		e, err = t.parseKept(spot{log, at.Seq}, &k)
	}
	if err != nil || !known {
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
	case errors.Is(err, stoat.ErrNotFound) && seq+1 != h.sealed:
		return nil
	case errors.Is(err, stoat.ErrNotFound):
		return errors.New("its seal is missing")
	case err != nil:
		return err
	case len(sig) != seal.Size:
		return errors.New("its seal has another size")
	}
	at := entry.Place{Space: t.space.id, Log: h.id, Seq: seq, Prev: *hash}
	return t.space.checkSeal(h.device, &at, (*[seal.Size]byte)(sig))
}
