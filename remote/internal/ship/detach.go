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
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Copied is the objects that [Shipper.Detach] has copied.
type Copied struct {
	Objects int
	Bytes   int64
}

// Detach makes the clone independent of its parent: it copies what the clone still needs of the
// parent's files, one after the other, says so in the log, and removes the pin. Each step may be
// repeated. Files are named by the newest version, or were since the unlink bound; no later version
// names others of the parent's. If the database is no clone, nothing happens.
func (s *Shipper) Detach(ctx context.Context) (copied Copied, err error) {
	if err := s.collector.begin(ctx); err != nil {
		return copied, err
	}
	defer s.collector.end()
	clone := clonestore.Of(s.log.Store)
	if clone == nil {
		return copied, nil // it has no origin, or opening it would have failed
	}
	if state := s.state(); state.Origin != nil {
		if copied, err = s.copyLent(ctx, state); err != nil {
			return copied, fmt.Errorf("copy the files of the parent: %w", err)
		}
		s.detaching.Store(true)
		err = s.await(ctx, func() bool {
			poke(s.wake)
			return s.state().Origin == nil
		})
		if err != nil {
			return copied, err
		}
	}
	clone.Return()
	parent, pin := *s.log, history.ClonePin(s.state().Claims[0].ID)
	parent.Store = retry.Persistent(clone.Parent())
	if err := parent.Unpin(ctx, pin); err != nil {
		return copied, fmt.Errorf("the clone is independent, but the parent has the pin %s; try again, "+
			"with the parent, or remove it: %w", pin, err)
	}
	return copied, nil
}

// copyLent copies the parent's files that a state needs, and the clone lacks.
func (s *Shipper) copyLent(ctx context.Context, state *object.State) (copied Copied, err error) {
	log := *s.log
	log.Store = retry.Persistent(s.log.Store)
	if err := wantKnown(ctx, &log, state); err != nil {
		return copied, err
	}
	lent, err := history.Lent(ctx, log.Store, state)
	if err != nil {
		return copied, err
	}
	for _, name := range slices.Sorted(maps.Keys(lent)) {
		body, err := readLent(ctx, log.Store, name, lent[name])
		if err != nil {
			return copied, err
		}
		size := int64(len(body))
		sent := paced{ctx, bytes.NewReader(body), &s.throttle}
		if err := log.Store.Put(ctx, name, sent, size); err != nil {
			return copied, err
		}
		copied.Objects++
		copied.Bytes += size
	}
	return copied, nil
}

// readLent returns a file of the parent, which has at least size bytes.
func readLent(
	ctx context.Context, store objstore.Store, name string, size int64,
) ([]byte, error) {
	body, err := store.Get(ctx, name, 0, -1)
	if errors.Is(err, objstore.ErrNotExist) {
		return nil, corrupt.New(name, 0, "the object is missing: %v", err)
	}
	if there := int64(len(body)); err == nil && there < size {
		err = corrupt.New(name, there, "the object ends, and the file has %d bytes", size)
	}
	return body, err
}

// wantKnown returns an error if a pin, such as that of a clone of the clone, is of a position
// before the unlink bound, as it may be if the two were made at the same time: a state does not
// know what such a pin needs.
func wantKnown(ctx context.Context, log *history.Log, state *object.State) error {
	pins, err := log.Pins(ctx)
	for _, pin := range pins {
		if err == nil && pin.Number < state.Bound {
			err = fmt.Errorf("the pin %s is older than the unlink bound, so nobody knows which files it "+
				"needs: remove it first, or detach the clone that has it", pin.Name)
		}
	}
	return err
}
