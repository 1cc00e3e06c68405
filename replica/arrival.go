package replica

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Every log has the number of its last arrival: it is drawn when the sealed part of the log grows.
// So what changed after some arrival is a scan of the logs that changed, not of entries or of all
// logs. The logs that grow in one transaction are a batch, and each batch has a digest of all
// batches up to it, by which a token of a peer is recognised: see [session.Token].

// batchesKept is the number of batches whose digests are kept. A peer that comes back after more
// of them compares all heads.
const batchesKept = 1 << 12

// domainBatch is what the digest of a batch begins with.
const domainBatch = "stoat.replica.batch.v1"

// growth is the logs whose sealed part grows in a transaction.
type growth struct {
	logs     []session.News // by log, in the order of arrival
	index    map[uint32]int // of the logs
	before   session.Position
	position session.Position
}

// grew notes that the sealed part of a log grew; from is how far it was sealed before. The entries
// came with the session of a number, or with none if that is 0. What came with another session and
// waited until now is new to the peer of this one.
func (t *txn) grew(h *head, from, number uint64) error {
	if t.growth == nil {
		t.growth = &growth{}
	}
	g := t.growth
	if len(g.logs) == 0 {
		g.index = map[uint32]int{}
		if err := t.tx.BeforeCommit(t.endBatch); err != nil {
			return err
		}
	}
	if i, ok := g.index[h.number]; ok {
		g.logs[i].To, g.logs[i].Cut = h.sealed, h.cut > 0
		if g.logs[i].Session != number {
			g.logs[i].Session = 0
		}
		return nil
	}
	g.index[h.number] = len(g.logs)
	g.logs = append(g.logs, session.News{Log: h.number, From: from, To: h.sealed, Session: number,
		Cut: h.cut > 0})
	return nil
}

// endBatch gives the logs that grew their numbers.
func (t *txn) endBatch() error {
	g := t.growth
	p, err := t.position()
	if err != nil {
		return err
	}
	g.before = p
	sum := sha256.New()
	sum.Write([]byte(domainBatch))
	sum.Write(p.Digest[:])
	for _, n := range g.logs {
		h, err := t.head(n.Log)
		if err != nil {
			return err
		}
		hash, err := t.hashOf(n.Log, n.To-1)
		if err != nil {
			return err
		}
		sum.Write(h.id[:])
		sum.Write(hash[:])
		p.Arrival++
		if err := t.renew(n.Log, p.Arrival); err != nil {
			return err
		}
	}
	p.Batch++
	copy(p.Digest[:], sum.Sum(nil))
	g.position = p
	stored := encodePosition(p)
	if err := t.meta.Put(batchKey(p.Batch), stored); err != nil {
		return err
	}
	if err := t.meta.Put([]byte(keyPosition), stored); err != nil {
		return err
	}
	t.space.chronicle.expect(g)
	return nil
}

// renew gives a log a new arrival number.
func (t *txn) renew(log uint32, arrival uint64) error {
	key := keyed(nil, prefixArrival, log)
	p, err := t.meta.Get(key)
	switch {
	case err == nil:
		err = t.meta.Delete(append([]byte(prefixRecent), p...))
	case missing(err):
		err = nil
	}
	if err != nil {
		return err
	}
	if err := t.meta.Put(recentKey(arrival), binary.BigEndian.AppendUint32(nil, log)); err != nil {
		return err
	}
	return t.meta.Put(key, binary.BigEndian.AppendUint64(nil, arrival))
}

// position returns the last arrival.
func (t *txn) position() (session.Position, error) {
	p, err := t.meta.Get([]byte(keyPosition))
	if missing(err) {
		return session.Position{}, nil
	}
	if err != nil {
		return session.Position{}, err
	}
	return parsePosition(p)
}

// resume returns the arrival that a token of this replica stands for.
func (t *txn) resume(token session.Token) (arrival uint64, ok bool, err error) {
	if token.Batch == 0 {
		return 0, false, nil
	}
	p, err := t.meta.Get(batchKey(token.Batch))
	if missing(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	at, err := parsePosition(p)
	return at.Arrival, err == nil && at.Token == token, err
}

// announce returns the ends of logs that changed after an arrival.
func (t *txn) announce(after uint64, most int) (
	heads []session.Head, p session.Position, more bool, err error,
) {
	if p, err = t.position(); err != nil {
		return nil, p, false, err
	}
	from := stoat.Range{Start: recentKey(after + 1), End: recentKey(p.Arrival + 1), Limit: most + 1}
	for key, value := range t.meta.Scan(from) {
		if len(heads) == most {
			return heads, p, true, nil
		}
		arrival := binary.BigEndian.Uint64(key[len(prefixRecent):])
		if len(value) != 4 {
			return nil, p, false, fmt.Errorf("arrival %d: %w", arrival, stoat.ErrCorrupt)
		}
		h, err := t.head(binary.BigEndian.Uint32(value))
		if err != nil {
			return nil, p, false, err
		}
		head, err := t.announced(h)
		if err != nil {
			return nil, p, false, err
		}
		heads = append(heads, head)
		if len(heads) == most {
			p = session.Position{Arrival: arrival} // unless this is the last one
		}
	}
	if err := t.tx.Err(); err != nil {
		return nil, p, false, err
	}
	if p.Batch == 0 {
		p, err = t.position()
	}
	return heads, p, false, err
}

func recentKey(arrival uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte(prefixRecent), arrival)
}

func batchKey(batch uint64) []byte {
	return binary.BigEndian.AppendUint16([]byte(prefixBatch), uint16(batch%batchesKept))
}

func encodePosition(p session.Position) []byte {
	encoded := binary.AppendUvarint(binary.AppendUvarint(nil, p.Batch), p.Arrival)
	return append(encoded, p.Digest[:]...)
}

func parsePosition(stored []byte) (p session.Position, err error) {
	r := wire.NewReader(stored)
	p.Batch, p.Arrival = r.Uvarint(), r.Uvarint()
	copy(p.Digest[:], r.Take(len(p.Digest)))
	if err := r.End(); err != nil {
		return p, fmt.Errorf("a position of arrivals: %w: %w", err, stoat.ErrCorrupt)
	}
	return p, nil
}
