package stoat

import (
	"weak"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Ref identifies a bucket across transactions, for layers that open the same buckets in every
// transaction: until the next commit, a read-only transaction finds the bucket without a lookup. It
// is useful while the database is open. The zero Ref identifies no bucket. It keeps nothing alive.
type Ref struct {
	db       weak.Pointer[DB]
	position Position
	id       uint64
}

// Ref returns a reference that [Tx.Refer] resolves to this bucket. In a writable transaction it
// returns the zero Ref, because what that transaction sees may never be committed.
func (b *Bucket) Ref() Ref {
	if b.ended() || b.session.writable {
		return Ref{}
	}
	return Ref{db: b.session.db.self, position: b.session.position, id: b.id}
}

// Refer returns the bucket that r was taken from. It returns nil if the bucket must be looked up:
// if something was committed in between, if r is from another database, and in a writable
// transaction.
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
	if r.id == keyspace.RootID || in.writable || tx.ended() ||
		r.position != in.position || r.db != in.db.self {
		return false
	}
	b.space = space{session: in, born: tx.born, id: r.id}
	b.setPrefix()
	return true
}
