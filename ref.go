package stoat

import (
	"weak"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Ref remembers which bucket is meant, for layers that open the same buckets in every transaction:
// while nothing is committed, a read-only transaction needs no lookups for them. It is of use while
// the database is open. The zero Ref means no bucket. It keeps nothing alive.
type Ref struct {
	db       weak.Pointer[DB]
	position Position
	id       uint64
}

// Ref returns what [Tx.Refer] makes the bucket of again. In a transaction that can write it is the
// zero Ref, because what that sees may not come to be.
func (b *Bucket) Ref() Ref {
	if b.ended() || b.session.writable {
		return Ref{}
	}
	return Ref{db: b.session.db.self, position: b.session.position, id: b.id}
}

// Refer returns the bucket that r was taken from, or nil if that must be looked up: when something
// was committed in between, of another database, and in a transaction that can write.
func (tx *Tx) Refer(r Ref) *Bucket {
	b := new(Bucket) // where this is inlined, it need not be on the heap
	if !tx.refer(&r, b) {
		return nil
	}
	return b
}

// refer makes b the bucket that r was taken from, and reports whether it could.
func (tx *Tx) refer(r *Ref, b *Bucket) bool {
	in := tx.session
	if r.id == keyspace.RootID || in.writable || tx.ended() ||
		r.position != in.position || r.db != in.db.self {
		return false
	}
	b.space = space{session: in, born: tx.born, id: r.id}
	b.setPrefix()
	return true
}
