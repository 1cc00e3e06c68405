package table

import (
	"runtime"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// Finger is the block in which the last lookup ended, so that the next one need not search for it
// if its key is near. The zero Finger is nowhere. A Finger keeps its table open. Not safe for
// concurrent use.
type Finger struct {
	reader *reader
	block  int
	near   bool // the last two lookups ended in the same block or neighbours; so may the next
}

// Near reports whether the next lookup may end in the block at f. f may be nil.
func (f *Finger) Near() bool { return f != nil && f.near }

// Find is [Table.Find] of a key that may be in the block at f or the next one; ok is false if it is
// in neither, or if their keys are not in memory. Then f is not near any more, until a lookup ends
// near it: lookups of absent keys search no blocks in vain. f must be near.
func (f *Finger) Find(key []byte, e *keyspace.Entry) (ok bool, err error) {
	r := f.reader
	for b := f.block; b < min(f.block+2, len(r.slots)); b++ {
		u := r.slots[b].keys.Load()
		if u == nil {
			break
		}
		u.touch()
		i, exact := u.item.Search(key)
		if exact {
			f.block = b
			err = r.entry(b, &u.item, i, e)
			runtime.KeepAlive(r)
			return err == nil, err
		}
		if i < u.item.Len() {
			break
		}
	}
	f.near = false
	return false, nil
}

// move moves f to block b, where an entry was found.
func (f *Finger) move(r *reader, b int) {
	f.near = f.reader == r && uint(b-f.block+1) <= 2
	if f.block = b; f.reader != r {
		f.reader = r
	}
}
