package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// What a session brings of an offer and of large chunks is stored as it arrives, so that no session
// has it in memory, and the next one goes on behind it:
//
//	bucket "pieces"  's', hash                           → a slice of an offer
//	                 'p', device that gave it, hash, u64 → bytes of a chunk's form, from an offset on

// slicesKept is how many slices are kept that are not of the offer that a session brings.
const slicesKept = 4 * session.OfferMax / session.SliceSize

// giversKept is of how many devices without a session bytes of a chunk are kept: whoever makes up
// devices cannot fill the disk.
const giversKept = 16

// begunStart is the start that was begun last since the space was opened, without its proofs. It is
// immutable.
type begunStart struct {
	notice *session.Notice
	start  *start
}

// is reports whether the start is of a notice.
func (b *begunStart) is(of *session.Notice) bool {
	if b == nil || b.notice.Checkpoint != of.Checkpoint || len(b.notice.Slices) != len(of.Slices) {
		return false
	}
	for i := range of.Slices {
		if b.notice.Slices[i] != of.Slices[i] {
			return false
		}
	}
	return true
}

// starting returns the start that was begun last, or nil.
func (s *Space) starting() *begunStart {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

func (s *Space) setStarting(b *begunStart) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun = b
}

// pieces returns where slices and bytes of chunks are kept, which is created with the first; nil if
// there are none.
func (t *txn) pieces() (*stoat.Bucket, error) {
	if t.tx.Writable() {
		return t.meta.CreateBucketIfNotExists([]byte(piecesBucket))
	}
	b, err := t.meta.Bucket([]byte(piecesBucket))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, nil
	}
	return b, err
}

func sliceKey(hash *chunk.Hash) []byte { return append([]byte{'s'}, hash[:]...) }

// pieceKey returns the key of bytes of a chunk, or the beginning of their keys.
func pieceKey(from DeviceID, leaf chunk.Hash) []byte {
	return append(append([]byte{'p'}, from[:]...), leaf[:]...)
}

// Lacking implements session.Space.
func (e endpoint) Lacking(slices []chunk.Hash) (lacks []int, err error) {
	err = e.s.inUpdate(func(t *txn) error {
		lacks = nil
		b, err := t.pieces()
		if err != nil {
			return err
		}
		wanted := map[string]bool{}
		for n := range slices {
			key := sliceKey(&slices[n])
			wanted[string(key)] = true
			has, err := b.Has(key)
			if err != nil {
				return err
			}
			if !has {
				lacks = append(lacks, n)
			}
		}
		var other [][]byte
		for key := range b.Keys(stoat.Prefix([]byte{'s'})) {
			if !wanted[string(key)] {
				other = append(other, bytes.Clone(key))
			}
		}
		if err := t.tx.Err(); err != nil || len(other) <= slicesKept {
			return err
		}
		for _, key := range other {
			if err := b.Delete(key); err != nil {
				return err
			}
		}
		return nil
	})
	return lacks, err
}

// KeepSlices implements session.Space.
func (e endpoint) KeepSlices(slices [][]byte) error {
	return e.s.inUpdate(func(t *txn) error {
		b, err := t.pieces()
		for i := 0; i < len(slices) && err == nil; i++ {
			hash := session.SliceHash(slices[i])
			err = b.Put(sliceKey(&hash), slices[i])
		}
		return err
	})
}

// assemble returns the offer of a notice, whose slices are stored.
func (e endpoint) assemble(of *session.Notice) (*session.Offer, error) {
	var encoded []byte
	err := e.view(func(t *txn) error {
		b, err := t.pieces()
		if err == nil && b == nil {
			err = errForgotten
		}
		for i := 0; err == nil && i < len(of.Slices); i++ {
			var p []byte
			if p, err = b.Get(sliceKey(&of.Slices[i])); missing(err) {
				err = errForgotten
			} else if err == nil && session.SliceHash(p) != of.Slices[i] {
				err = fmt.Errorf("a slice of an offer: %w", stoat.ErrCorrupt)
			}
			encoded = append(encoded, p...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	o, err := session.ParseOffer(encoded)
	if err == nil && o.Checkpoint != of.Checkpoint {
		err = errors.New("it is of another checkpoint")
	}
	if err != nil {
		return nil, invalid("an offer: %w", err)
	}
	return o, nil
}

// BeginSliced implements session.Space.
func (e endpoint) BeginSliced(of *session.Notice, from [32]byte, begun bool) (
	lack session.Lack, reason, err error,
) {
	var lacks []session.ChunkID
	known := e.s.starting()
	if begun && known.is(of) {
		lacks, err = e.lacksOf(known.start)
	}
	if err == nil && lacks == nil {
		known = &begunStart{notice: of}
		known.start, lacks, reason, err = e.beginAnew(of, from)
	}
	if reason != nil || err != nil {
		return lack, reason, err
	}
	e.s.setStarting(known)
	at := known.start.at
	lack.Of = session.Head{Log: [12]byte(at.Log[:12]), Next: at.Seq + 1}
	for _, id := range lacks {
		lack.Add(id)
	}
	if len(lacks) > 0 {
		first := lacks[0]
		lack.Offset, err = e.storedOf(known.start.trees[first.Tree][first.N], from)
	}
	return lack, nil, err
}

// beginAnew verifies an offer, and begins to start with it.
func (e endpoint) beginAnew(of *session.Notice, from [32]byte) (
	st *start, lacks []session.ChunkID, reason, err error,
) {
	o, err := e.assemble(of)
	if err != nil {
		return nil, nil, nil, err
	}
	st, err = e.s.begin(o, e.s.check)
	if errors.Is(err, errQuorum) {
		return nil, nil, err, nil
	}
	if err == nil {
		lacks, reason, err = e.beginStart(st, from)
	}
	if reason != nil || err != nil {
		return nil, nil, reason, err
	}
	return &start{at: st.at, hash: st.hash, act: st.act, trees: st.trees}, lacks, nil, nil
}

// lacksOf returns what is lacking of a start that was begun and has not ended, or nil if it has.
func (e endpoint) lacksOf(st *start) (lacks []session.ChunkID, err error) {
	err = e.view(func(t *txn) error {
		begun, err := t.begun()
		if err == nil && begun != nil && begun.hash == st.hash {
			if lacks, err = t.unstaged(st); lacks == nil {
				lacks = []session.ChunkID{}
			}
		}
		return err
	})
	return lacks, err
}

// storedOf returns how many bytes of a chunk by a device are stored.
func (e endpoint) storedOf(leaf chunk.Hash, from DeviceID) (n uint64, err error) {
	err = e.view(func(t *txn) error {
		return t.eachPiece(leaf, from, func(p []byte) error {
			n += uint64(len(p))
			return nil
		})
	})
	return n, err
}

// eachPiece calls fn with the bytes of a chunk that are stored, in order.
func (t *txn) eachPiece(leaf chunk.Hash, from DeviceID, fn func(p []byte) error) error {
	b, err := t.pieces()
	if err != nil || b == nil {
		return err
	}
	for _, p := range b.Scan(stoat.Prefix(pieceKey(from, leaf))) {
		if err := fn(p); err != nil {
			return err
		}
	}
	return t.tx.Err()
}

// Leaf implements session.Space.
func (e endpoint) Leaf(checkpoint entry.Hash, id session.ChunkID) (leaf chunk.Hash, ok bool) {
	b := e.s.starting()
	if b == nil || b.start.hash != checkpoint || id.Tree >= len(b.start.trees) ||
		id.N >= len(b.start.trees[id.Tree]) {
		return leaf, false
	}
	return b.start.trees[id.Tree][id.N], true
}

// StagePart implements session.Space. Of each device, bytes of one chunk are kept, and of devices
// that have left, of a few only.
func (e endpoint) StagePart(leaf chunk.Hash, from [32]byte, offset uint64, p []byte) error {
	return e.s.inUpdate(func(t *txn) error {
		b, err := t.pieces()
		if err != nil {
			return err
		}
		if offset == 0 {
			of := append([]byte{'p'}, from[:]...)
			if err := b.DeleteRange(stoat.Prefix(of)); err != nil {
				return err
			}
			if err := t.dropPieces(b); err != nil {
				return err
			}
		}
		return b.Put(binary.BigEndian.AppendUint64(pieceKey(from, leaf), offset), p)
	})
}

// dropPieces forgets bytes of chunks by devices that have no session now, if there are more than a
// few of them. What a device with a session has given stays, or the device would be blamed for it.
func (t *txn) dropPieces(b *stoat.Bucket) error {
	present := map[DeviceID]bool{}
	t.space.mu.Lock()
	for _, p := range t.space.peers {
		present[p.Device] = true
	}
	t.space.mu.Unlock()
	var gone [][]byte // beginnings of keys
	next := stoat.Range{Start: []byte{'p'}, End: []byte{'p' + 1}, Limit: 1}
	for more := true; more; {
		more = false
		for key := range b.Keys(next) {
			of := bytes.Clone(key[:1+len(DeviceID{})])
			if more = true; !present[DeviceID(of[1:])] {
				gone = append(gone, of)
			}
			next.Start = append(bytes.Clone(of), bytes.Repeat([]byte{0xff}, len(key))...)
		}
	}
	if len(gone) <= giversKept {
		return t.tx.Err()
	}
	for _, of := range gone {
		if err := b.DeleteRange(stoat.Prefix(of)); err != nil {
			return err
		}
	}
	return nil
}

// Join implements session.Space.
func (e endpoint) Join(leaf chunk.Hash, from [32]byte) (good bool, err error) {
	err = e.s.inUpdate(func(t *txn) error {
		var form []byte
		err := t.eachPiece(leaf, from, func(p []byte) error {
			form = append(form, p...)
			return nil
		})
		if err != nil {
			return err
		}
		if good = (&chunk.Unpacker{}).Is(form, leaf); good {
			err = t.stageChunks([]chunk.Packed{{Leaf: leaf, Form: form}})
		}
		b, failed := t.pieces()
		if err = errors.Join(err, failed); err == nil {
			err = b.DeleteRange(stoat.Prefix(pieceKey(from, leaf)))
		}
		return err
	})
	return good, err
}
