package ship

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/retry"
)

// Fetch brings a file into a cache, each part of it once pass lets it through: from the store, or,
// unless that is nil, from the file here. It reports whether there was room for the file, once
// files that are not needed have left the cache.
type Fetch func(
	ctx context.Context, kind folder.Kind, number uint64, size int64, here io.ReaderAt,
	pass func(bytes int) error, needed func(kind folder.Kind, number uint64) bool,
) (room bool, err error)

// filling is what is fetched next.
type filling struct {
	of      *manifest.Version // that rest is of
	rest    []dataFile        // what the folder lacked of it and was not fetched, the newest last
	fetched map[uint64]bool   // files that the folder lacks
}

// keepFilled fetches the files that the folder lacks, until ctx ends.
func (s *Shipper) keepFilled(ctx context.Context) {
	f := filling{fetched: map[uint64]bool{}}
	for tries := 0; ctx.Err() == nil; {
		more, err := s.fetchNext(ctx, &f)
		switch {
		case err != nil && ctx.Err() == nil:
			s.stock.noteFill(err, time.Now())
			tries++
			retry.Sleep(ctx, retry.BackOff(tries), nil)
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
func (s *Shipper) fetchNext(ctx context.Context, f *filling) (more bool, err error) {
	if v := s.engine.Version(); v != f.of || len(f.rest) == 0 {
		s.refill(f, v)
	}
	if len(f.rest) == 0 {
		return false, nil
	}
	last := len(f.rest) - 1
	d, pass := f.rest[last], func(bytes int) error { return s.received.pass(ctx, bytes) }
	more, err = s.config.Fetch(ctx, d.kind, d.number, d.size, nil, pass, f.neededBy())
	if errors.Is(err, corrupt.Err) {
		s.stock.noteFill(err, time.Now())
		more, err = true, nil
	}
	if more && err == nil {
		f.fetched[d.number], f.rest = true, f.rest[:last]
	}
	return more, err
}

// neededBy returns what reports whether a file is named by the version. What it looks at, it looks
// at once it is asked.
func (f *filling) neededBy() func(kind folder.Kind, number uint64) bool {
	sizes := sync.OnceValue(func() map[string]int64 { return history.FileSizes(f.of) })
	return func(kind folder.Kind, number uint64) bool {
		_, isNeeded := sizes()[history.DataName(kind, number)]
		return isNeeded
	}
}

// refill finds out what is to be fetched of a version. It looks at all files, so it is not for each
// of them. It forgets obsolete ones.
func (s *Shipper) refill(f *filling, v *manifest.Version) {
	_, lacking := s.stock.split(v)
	lacked := make(map[uint64]bool, len(lacking))
	for _, d := range lacking {
		lacked[d.number] = true
	}
	maps.DeleteFunc(f.fetched, func(number uint64, _ bool) bool { return !lacked[number] })
	f.of = v
	f.rest = slices.DeleteFunc(lacking, func(d dataFile) bool { return f.fetched[d.number] })
	slices.SortFunc(f.rest, byAge)
}
