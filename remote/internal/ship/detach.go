package ship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/clonestore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Detach makes the clone independent of its parent: it copies what the clone still needs of the
// parent's files, one after the other, says so in the log, and removes the pin. Each step may be
// repeated. Files are named by the newest version, or were since the unlink bound; no later version
// names others of the parent's. If the database is no clone, nothing happens.
func (s *Shipper) Detach(ctx context.Context) (copied Usage, err error) {
	if err := s.collector.begin(ctx); err != nil {
		return copied, err
	}
	defer s.collector.end()
	clone := clonestore.Of(s.log.Store)
	if clone == nil {
		return copied, nil // it has no origin, or opening it would have failed
	}
	if state := s.state(); state.Origin != nil {
		if copied, err = s.copyLent(ctx, clone, state); err != nil {
			return copied, err
		}
		s.detaching.Store(true)
		err = s.await(ctx, func() bool {
			poke(s.wake)
			return s.state().Origin == nil
		})
		if err != nil {
			return copied, err
		}
		if err := clone.Lend(ctx, s.log, s.state()); err != nil {
			return copied, err
		}
	}
	parent := *s.log
	parent.Store = clone.Parent()
	return copied, parent.Unpin(ctx, history.ClonePin(s.state().Claims[0].ID))
}

// copyLent copies the parent's files that a state needs, and the clone lacks.
func (s *Shipper) copyLent(
	ctx context.Context, clone *clonestore.Store, state *object.State,
) (copied Usage, err error) {
	lent, err := lentBy(ctx, clone, state)
	for _, name := range slices.Sorted(maps.Keys(lent)) {
		if err != nil {
			break
		}
		var body []byte
		if body, err = clone.Get(ctx, name, 0, -1); errors.Is(err, objstore.ErrNotExist) {
			err = corrupt.New(name, 0, "the object is missing: %v", err)
		}
		if err == nil {
			s.throttle.charge(len(body))
			err = clone.Put(ctx, name, bytes.NewReader(body), int64(len(body)))
		}
		if err == nil {
			copied.add(objstore.Object{Name: name, Size: int64(len(body))})
		}
	}
	if err != nil {
		err = fmt.Errorf("copy the files of the parent: %w", err)
	}
	return copied, err
}

// lentBy returns the names of the files that only the parent has of what a state needs, or the past
// since its unlink bound, and their sizes, as far as the version has them.
func lentBy(
	ctx context.Context, own objstore.Store, state *object.State,
) (map[string]int64, error) {
	needed := sizesOf(state.Version)
	for _, r := range state.Retired {
		needed[retiredName(r)] += 0
	}
	maps.DeleteFunc(needed, func(name string, _ int64) bool {
		_, number, _ := history.ParseData(name)
		return state.Origin == nil || number>>history.EpochShift > state.Origin.Epoch
	})
	if len(needed) == 0 {
		return needed, nil
	}
	err := history.EachObject(ctx, own, history.DataPrefix, func(page []objstore.Object) error {
		for _, o := range page {
			delete(needed, o.Name)
		}
		return nil
	})
	return needed, err
}
