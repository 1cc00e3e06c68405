package replica

import (
	"errors"

	"github.com/stoatdb/stoat"
)

// filler fills collections whose state at the horizon is missing, from the subtrees of that.
type filler struct {
	*installation
	horizon *horizon
}

// run does it. What is here of the entries that the horizon covers cannot be completed, so they are
// as if they were pruned.
func (f *filler) run() error {
	t := f.t
	if err := t.replayMarked(); err != nil {
		return err
	}
	pruned, err := t.pruned(f.horizon)
	if err == nil && !pruned {
		if err = t.compareRoots(f.horizon); err == nil {
			err = t.noteVerified(f.horizon)
		}
	}
	if err != nil {
		return err
	}
	unfilled, err := t.missingAt(f.horizon)
	if err != nil {
		return err
	}
	for i := range f.act.Chunks {
		name := f.act.Chunks[i].Collection
		number, lacking := unfilled[name]
		if delete(unfilled, name); lacking && len(f.trees[i]) > 0 {
			if err := f.fill(name, number, i); err != nil {
				return err
			}
		}
	}
	for name, number := range unfilled { // these are empty at the checkpoint
		if err := f.fill(name, number, 0); err != nil {
			return err
		}
	}
	if err := t.replayBeyond(f.horizon); err != nil {
		return err
	}
	if err := t.completeCollections(); err != nil {
		return err
	}
	return t.unstage()
}

// fill makes the state of a collection that of a subtree; 0 stands for none.
func (f *filler) fill(name string, number uint32, tree int) error {
	bases, err := f.t.bases()
	if err == nil {
		err = bases.DeleteRange(stoat.Prefix(baseKey(f.horizon.number, number, nil)))
	}
	if err == nil {
		_, err = f.place(name, tree)
	}
	return err
}

// unstage forgets the start, which has come to its end.
func (t *txn) unstage() error {
	var failed error
	for _, name := range []string{stagedBucket, piecesBucket} {
		err := t.meta.DeleteBucket([]byte(name))
		if err != nil && !errors.Is(err, stoat.ErrBucketNotFound) {
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, t.meta.Delete([]byte(keyStart)))
}
