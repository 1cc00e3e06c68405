package ship

import (
	"context"
	"errors"
	"maps"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
)

// Fetch brings a file that is only in the store into a cache, each part of it once pass lets it
// through. It reports whether there was room for the file.
type Fetch func(
	ctx context.Context, kind folder.Kind, number uint64, size int64, pass func(bytes int) error,
) (room bool, err error)

// keepFilled fetches the files that the folder lacks, until ctx ends.
func (s *Shipper) keepFilled(ctx context.Context) {
	fetched := map[uint64]bool{}
	for tries := 0; ctx.Err() == nil; {
		more, err := s.fetchNext(ctx, fetched)
		switch {
		case err != nil:
			tries++
			sleep(ctx, backOff(tries), nil)
		case more:
			tries = 0
		default:
			select {
			case <-ctx.Done():
			case <-s.stock.lacks:
			}
		}
	}
}

// fetchNext fetches the newest file that the folder lacks and that was not fetched: the next
// compactions read it most likely. It reports whether there may be another one, and room for it. A
// damaged file is left to those who read it.
func (s *Shipper) fetchNext(ctx context.Context, fetched map[uint64]bool) (more bool, err error) {
	u, ok := s.toFetch(fetched)
	if !ok {
		return false, nil
	}
	pass := func(bytes int) error { return s.received.pass(ctx, bytes) }
	more, err = s.config.Fetch(ctx, u.kind, u.number, u.size, pass)
	if errors.Is(err, corrupt.Err) {
		more, err = true, nil
	}
	if more && err == nil {
		fetched[u.number] = true
	}
	return more, err
}

// toFetch returns the file to fetch next. It forgets obsolete files.
func (s *Shipper) toFetch(fetched map[uint64]bool) (newest upload, ok bool) {
	_, lacking := s.stock.split(s.engine.Version())
	lacked := make(map[uint64]bool, len(lacking))
	for _, u := range lacking {
		lacked[u.number] = true
		if !fetched[u.number] && (!ok || byAge(u, newest) > 0) {
			newest, ok = u, true
		}
	}
	maps.DeleteFunc(fetched, func(number uint64, _ bool) bool { return !lacked[number] })
	return newest, ok
}
