package replica

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// How a replica keeps entries: a byte of flags; the hash, if its flag is set; and either the form
// in which the entry is sent or, for a data entry with one part, which nearly all are:
//
//	u64      time
//	hash     digest of the context, if there is one: its heads are in the frontier
//	uvarint  number of the collection
//	         content of the part, to the end
//
// Few hashes are kept. Others follow from the chain.
const (
	keptHash    = 1 << iota // the hash follows
	keptCompact             // the short form follows
	keptContext             // there is a context: only in the short form
)

// A hash is kept with every entry whose seq is one less than a multiple of hashStep, and with every
// entry of at least hashSize bytes. So any hash follows from at most hashStep entries, and few
// bytes. Control entries, which others cite, have theirs, too.
const (
	hashStep = 32
	hashSize = 4 << 10
)

// keptRoom is how many bytes more than when it is sent an entry takes, at most.
const keptRoom = 1 + 32

// appendKept appends the form in which the next entry of a log is kept.
func (t *txn) appendKept(
	dst []byte, h *head, e *entry.Entry, sent []byte, hash *entry.Hash,
) ([]byte, error) {
	at, flags := len(dst), byte(0)
	dst = append(dst, 0)
	if h.next%hashStep == hashStep-1 || len(sent) >= hashSize ||
		e.Kind == entry.KindControl {
		flags |= keptHash
		dst = append(dst, hash[:]...)
	}
	if !isCompact(e, len(sent)) {
		dst = append(dst, sent...)
	} else {
		number, err := t.collectionNumber(e.Parts[0].Group)
		if err != nil {
			return nil, err
		}
		flags |= keptCompact
		dst = binary.BigEndian.AppendUint64(dst, uint64(e.Time))
		if len(e.Context) > 0 {
			flags |= keptContext
			dst = append(dst, e.Digest[:]...)
		}
		dst = append(binary.AppendUvarint(dst, uint64(number)), e.Parts[0].Data...)
	}
	dst[at] = flags
	return dst, nil
}

// isCompact reports whether the short form says all about an entry, which takes so many bytes when
// it is sent.
func isCompact(e *entry.Entry, size int) bool {
	if e.Kind != entry.KindData || len(e.Parts) != 1 || e.Parts[0].Group == "" {
		return false
	}
	n := 1 + 8 + 1 + 1 + 1 + 1 + wire.BytesLen(len(e.Parts[0].Group)) +
		wire.BytesLen(len(e.Parts[0].Data))
	if len(e.Context) > 0 {
		n += 1 + len(e.Digest)
		for i := range e.Context {
			n += len(e.Context[i].Log) + wire.UvarintLen(e.Context[i].Seq)
		}
	}
	return n == size
}

// kept is an entry as it is kept.
type kept struct {
	flags byte
	hash  entry.Hash // if its flag is set
	rest  []byte
}

// kept returns an entry as it is kept, valid until the transaction ends.
func (t *txn) kept(at spot) (k kept, err error) {
	t.key = entryKey(t.key[:0], "", at.log, at.seq)
	p, err := t.entries.Get(t.key)
	if missing(err) {
		err = t.whyMissing(at, err)
	}
	if err != nil {
		return k, fmt.Errorf("entry %d of log %d: %w", at.seq, at.log, err)
	}
	r := wire.NewReader(p)
	if k.flags = r.Byte(); k.flags&keptHash != 0 {
		k.hash = r.Hash()
	}
	if k.rest = r.Rest(); r.Err() != nil || len(k.rest) < 9 {
		return k, fmt.Errorf("entry %d of log %d is cut off: %w", at.seq, at.log, stoat.ErrCorrupt)
	}
	return k, nil
}

// time returns the time of the entry.
func (k *kept) time() hlc.Time {
	p := k.rest
	if k.flags&keptCompact == 0 {
		p = p[1:] // its version
	}
	return hlc.Time(binary.BigEndian.Uint64(p))
}

// entry returns an entry, which is valid until the transaction ends.
func (t *txn) entry(log uint32, seq uint64) (*entry.Entry, error) {
	k, err := t.kept(spot{log, seq})
	if err != nil {
		return nil, err
	}
	return t.parseKept(spot{log, seq}, &k)
}

// placed returns an entry with the head of its log and its hash.
func (t *txn) placed(at spot) (h *head, hash entry.Hash, e *entry.Entry, err error) {
	if h, err = t.head(at.log); err == nil {
		hash, err = t.hashOf(at.log, at.seq)
	}
	if err == nil {
		e, err = t.entry(at.log, at.seq)
	}
	return h, hash, e, err
}

// parseKept returns an entry from the form in which it is kept.
func (t *txn) parseKept(at spot, k *kept) (*entry.Entry, error) {
	if k.flags&keptCompact == 0 {
		e, err := entry.Parse(k.rest)
		if err != nil {
			return nil, fmt.Errorf("entry %d of log %d: %w: %w", at.seq, at.log, err, stoat.ErrCorrupt)
		}
		return e, nil
	}
	r := wire.NewReader(k.rest)
	e := &entry.Entry{Time: hlc.Time(r.Uint64()), Kind: entry.KindData}
	if k.flags&keptContext != 0 {
		e.Digest = r.Hash()
		f, err := t.frontier(at)
		if err != nil {
			return nil, err
		}
		e.Context = make([]entry.Head, len(f.heads))
		for i, s := range f.heads {
			h, err := t.head(s.log)
			if err != nil {
				return nil, err
			}
			e.Context[i] = entry.Head{Log: h.id, Seq: s.seq}
		}
	}
	name, err := t.collectionName(uint32(r.Uvarint()))
	if err == nil && r.Err() != nil {
		err = fmt.Errorf("%w: %w", r.Err(), stoat.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of log %d: %w", at.seq, at.log, err)
	}
	e.Parts = []entry.Part{{Group: name, Data: r.Rest()}}
	return e, nil
}

// timeOf returns the time of an entry.
func (t *txn) timeOf(at spot) (hlc.Time, error) {
	k, err := t.kept(at)
	if err != nil {
		return 0, err
	}
	return k.time(), nil
}

// hashed is an entry with its hash.
type hashed struct {
	spot
	hash entry.Hash
}

// hashOf returns the hash of an entry. It takes up to hashStep entries, unless the entry is the
// last one of its log, or follows the one whose hash the transaction asked for before.
func (t *txn) hashOf(log uint32, seq uint64) (hash entry.Hash, err error) {
	h, err := t.head(log)
	if err != nil {
		return hash, err
	}
	if seq == h.next-1 {
		return h.hash, nil
	}
	var chain []kept // from the entry back to one whose hash is known
	for back := seq; ; back-- {
		if known := t.hashed; known.spot == (spot{log, back}) && back > 0 {
			hash = known.hash
			break
		}
		if back == 0 {
			hash = h.id
			break
		}
		if back+1 == h.next {
			hash = h.hash
			break
		}
		k, err := t.kept(spot{log, back})
		if err != nil {
			return hash, err
		}
		if k.flags&keptHash != 0 {
			hash = k.hash
			break
		}
		chain = append(chain, k)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		at := spot{log, seq - uint64(i)}
		e, err := t.parseKept(at, &chain[i])
		if err != nil {
			return hash, err
		}
		hash = e.Hash(&entry.Place{Space: t.space.id, Log: h.id, Seq: at.seq, Prev: hash})
	}
	t.hashed = hashed{spot{log, seq}, hash}
	return hash, nil
}

// sent returns an entry in the form in which it is sent, valid until the transaction ends. Of one
// that was pruned, nothing may leave: its stub is another entry.
func (t *txn) sent(log uint32, seq uint64) ([]byte, error) {
	k, err := t.kept(spot{log, seq})
	if err == nil && k.flags&keptHash != 0 {
		err = k.notStub()
	}
	if err != nil || k.flags&keptCompact == 0 {
		return k.rest, err
	}
	e, err := t.parseKept(spot{log, seq}, &k)
	if err != nil {
		return nil, err
	}
	return e.Append(make([]byte, 0, len(k.rest)+64+40*len(e.Context))), nil
}

// stubMax is the most bytes of the entry in a stub.
const stubMax = 32

// notStub returns ErrPruned if an entry is a stub. Others of its kind have a context.
func (k *kept) notStub() error {
	if k.flags&keptCompact != 0 || len(k.rest) > stubMax {
		return nil
	}
	e, err := entry.Parse(k.rest)
	if err == nil && e.Kind == entry.KindContext && len(e.Context) == 0 {
		return ErrPruned
	}
	return nil // those that use it say whether it is damaged
}

// putStub stores the hash and the time of an entry in its place.
func (t *txn) putStub(at spot, time hlc.Time, hash entry.Hash) error {
	p := append([]byte{keptHash}, hash[:]...)
	p = (&entry.Entry{Time: time, Kind: entry.KindContext}).Append(p)
	return t.entries.Put(entryKey(nil, "", at.log, at.seq), p)
}

// whyMissing returns ErrPruned for an entry that the checkpoint covers, session.ErrEnded for one
// that its log does not have any more, and err for others.
func (t *txn) whyMissing(at spot, err error) error {
	hz, failed := t.horizonOf()
	if failed == nil && hz != nil && at.seq < hz.covers[at.log] {
		return ErrPruned
	}
	if h, headErr := t.head(at.log); headErr == nil && at.seq >= max(h.next, h.sealed) {
		return session.ErrEnded
	}
	return errors.Join(err, failed)
}
