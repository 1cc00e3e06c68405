package stoat

import (
	"weak"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Ref identifies a bucket across transactions, for layers that open the same buckets in every
// transaction: a transaction finds the bucket without a lookup, until any bucket of the database is
// created, dropped or moved. It is useful while the database is open. The zero Ref identifies no
// bucket. It keeps nothing alive. It is immutable.
type Ref struct {
	db       weak.Pointer[DB]
	position Position
	id       uint64
	within   *space // the bucket that contains it, of no session; nil: the root
}

// Ref returns a reference that [Tx.Refer] resolves to this bucket. If a bucket was created, dropped
// or moved since the transaction began, or by it, the reference resolves to nothing.
func (b *Bucket) Ref() Ref {
	if b.ended() {
		return Ref{}
	}
	in := b.session
	return Ref{db: in.db.self, position: in.position, id: b.id, within: in.holderCopy(&b.space)}
}

// Refer returns the bucket that r was taken from. It returns nil if the bucket must be looked up:
// if a bucket was created, dropped or moved in between, or in this transaction, and if r is from
// another database.
func (tx *Tx) Refer(r Ref) *Bucket {
	b := new(Bucket) // stays on the stack where Refer is inlined
	if !tx.refer(&r, b) {
		return nil
	}
	return b
}

// refer makes b the bucket that r was taken from, and reports whether it could.
func (tx *Tx) refer(r *Ref, b *Bucket) bool {
	in := tx.session
	if r.id == keyspace.RootID || tx.ended() || r.db != in.db.self ||
		in.db.engine.BucketsChanged() > min(r.position.commit(), in.position.commit()) {
		return false
	}
	b.space = space{session: in, born: tx.born, id: r.id, parent: r.within}
	b.setPrefix()
	return true
}

// holderCopy returns a copy of the bucket that contains b, for a Ref, or nil if that is the root.
func (s *session) holderCopy(b *space) *space {
	above := s.holder(b)
	if above == nil || above.id == keyspace.RootID {
		return nil
	}
	return &space{id: above.id, parent: s.holderCopy(above)}
}
