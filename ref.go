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
	if b.ended() || b.tx.writable {
		return Ref{}
	}
	return Ref{db: b.tx.db.self, position: b.tx.position, id: b.id}
}

// Refer returns the bucket that r was taken from, or nil if that must be looked up: when something
// was committed in between, of another database, and in a transaction that can write.
func (tx *Tx) Refer(r Ref) *Bucket {
	if r.id == keyspace.RootID || tx.writable || tx.ended() ||
		r.position != tx.position || r.db != tx.db.self {
		return nil
	}
	return tx.child(r.id)
}
