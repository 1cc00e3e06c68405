package replica

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// Start is how far a replica is that starts from a checkpoint. It shows nothing of that before it
// has all chunks of the state. A peer that has the same checkpoint gives the rest.
type Start struct {
	Chunks int `json:"chunks"` // of the state, as far as the replica holds it
	Stored int `json:"stored"` // of these, how many are here
}

// startStatus returns how far a start is, or nil. Chunks of an older checkpoint that was begun
// before count, too.
func (t *txn) startStatus() (*Start, error) {
	begun, err := t.begun()
	if begun == nil {
		return nil, err
	}
	st := &Start{Chunks: begun.chunks}
	b, err := t.meta.Bucket([]byte(stagedBucket))
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	for range b.Keys(stoat.Range{}) {
		st.Stored++
	}
	st.Stored = min(st.Stored, st.Chunks)
	return st, t.tx.Err()
}
