package replica

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// sendHeads sends the list of heads.
func (x *exchange) sendHeads(heads []*head) error {
	slices.SortFunc(heads, func(a, b *head) int { return bytes.Compare(a.id[:], b.id[:]) })
	for {
		part := heads[:min(len(heads), headsMax)]
		heads = heads[len(part):]
		list := binary.AppendUvarint(nil, uint64(len(part)))
		for _, h := range part {
			list = binary.AppendUvarint(append(list, h.id[:]...), h.sealed)
			list = append(list, h.hash[:]...)
		}
		if err := x.write(frameHeads, list); err != nil || len(part) < headsMax {
			return err
		}
	}
}

// receiveHeads returns how many entries the peer has of each log that is known here. What else it
// lists takes no memory. If the peer has another branch of a log, it is sent all of the log, so
// that it finds where the branches part.
func (x *exchange) receiveHeads() (theirs map[entry.Hash]uint64, err error) {
	theirs = map[entry.Hash]uint64{}
	for n := headsMax; n == headsMax; {
		p, err := x.read(frameHeads, 2+(32+10+32)*headsMax)
		if err != nil {
			return nil, err
		}
		list, err := parseHeads(p)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errPeer, err)
		}
		n = len(list)
		err = x.space.db.View(func(tx *stoat.Tx) error {
			t, err := x.space.in(tx)
			for i := 0; i < n && err == nil; i++ {
				err = t.compare(&list[i], theirs)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return theirs, nil
}

// compare adds the head of a log that a peer has to theirs, if the log is known here.
func (t *txn) compare(peer *head, theirs map[entry.Hash]uint64) error {
	number, known, err := t.logNumber(peer.id)
	if err != nil || !known {
		return err
	}
	theirs[peer.id] = peer.next
	h, err := t.head(number)
	if err != nil || peer.next > h.next {
		return err
	}
	own, err := t.hashOf(number, peer.next-1)
	if err == nil && own != peer.hash && !h.voids(peer.next-1) {
		theirs[peer.id] = 0
	}
	return err
}

// parseHeads decodes a frame of heads.
func parseHeads(p []byte) ([]head, error) {
	r := wire.NewReader(p)
	heads := make([]head, r.Count(headsMax, 32+1+32))
	for i := range heads {
		h := &heads[i]
		h.id, h.next, h.hash = r.Hash(), r.Uvarint(), r.Hash()
		if h.next == 0 || i > 0 && bytes.Compare(h.id[:], heads[i-1].id[:]) <= 0 {
			r.Fail("the heads are not sorted, or one is of an empty log")
		}
	}
	return heads, r.End()
}
