package ship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// evictedMost is how many files are removed at a time.
	evictedMost = 64
	// endBytes is how much of the end of a file is compared with the object before it is removed. A
	// table has checksums of all of it there.
	endBytes = 4 << 10
)

// Room implements [engine.Shipper]. If the folder has a limit, compactions wait until the store has
// nearly all of what the ones before have written. Otherwise, with a store that is slower than they
// are, the folder would take all that they write.
func (s *Shipper) Room(v *manifest.Version, bytes int64) bool {
	return s.config.Local == 0 || !s.mayEvict() || bytesOf(filesBeyond(v, s.state().Version)) <= bytes
}

// keepLimit removes files from the folder while they pass the limit, until ctx ends.
func (s *Shipper) keepLimit(ctx context.Context) {
	for tries := 0; ctx.Err() == nil; {
		err := s.evict(ctx)
		if ctx.Err() != nil {
			return
		}
		if s.stock.note(err); err != nil {
			tries++
			retry.Sleep(ctx, retry.BackOff(tries), nil)
			continue
		}
		tries = 0
		select {
		case <-ctx.Done():
		case <-s.stock.due:
		}
	}
}

// evict removes files from the folder, as long as they pass the limit and the store has some of
// them. After an error of the store, all that is left stays: one that has lost a file may have lost
// others. A file that cannot be read or removed stays, and is tried again later.
func (s *Shipper) evict(ctx context.Context) error {
	for s.mayEvict() && len(s.surplus(s.engine.Version())) > 0 {
		files, kept := s.leaving()
		files, err := s.stored(ctx, files)
		s.moveToCache(ctx, files)
		evicted, unremoved, failed := s.engine.Evict(numbersOf(files))
		maps.Copy(kept, unremoved)
		s.stock.keep(kept, time.Now())
		s.stock.lack(evicted, s.engine.Version())
		if errors.Is(failed, engine.ErrClosed) {
			return nil
		}
		if err = errors.Join(err, failed); err != nil {
			return errors.Join(err, s.stock.whyStuck(s.engine.Version()))
		}
		if len(evicted)+len(kept) == 0 {
			break
		}
	}
	return s.stock.whyStuck(s.engine.Version())
}

// mayEvict reports whether this is still the writer: another one may delete what only the folder
// names.
func (s *Shipper) mayEvict() bool {
	return s.whyEnded() == nil && !s.closing.Load()
}

// surplus returns the files to remove next: the oldest ones, as many as it takes. The files that
// compactions have left alone for longest are the least likely to be read by the next ones; what
// else is read of them, the cache keeps.
//
// Files that the log in the store does not name stay. Until it does, whoever opens the folder after
// a crash must find them there; from then on, they are in the store for as long as the folder names
// them. The catalog stays, too: most transactions read it, and those that write must not need the
// store for that.
func (s *Shipper) surplus(v *manifest.Version) (files []dataFile) {
	local, _ := s.stock.split(v)
	rest, again := bytesOf(local), s.stock.again(time.Now())
	if rest <= s.config.Local && len(again) == 0 {
		return nil
	}
	stays := map[uint64]bool{}
	for _, d := range filesBeyond(v, s.state().Version) {
		stays[d.number] = true
	}
	for t := range v.Tables() {
		if t.IsCatalog() {
			stays[t.Number] = true
		}
	}
	slices.SortFunc(local, byAge)
	for _, d := range local {
		due, isStuck := again[d.number]
		switch {
		case len(files) == evictedMost:
			return files
		case stays[d.number] || isStuck && !due:
		case due || rest > s.config.Local: // others have left the folder in the place of what is due
			files = append(files, d)
			rest -= d.size
		}
	}
	return files
}

// leaving is a file to remove, and its end.
type leaving struct {
	dataFile
	end []byte
}

// leaving returns the files to remove next, and why others cannot be read. It holds none
// afterwards: while the store does not answer, what compactions replace must leave the folder.
func (s *Shipper) leaving() (files []leaving, kept map[uint64]error) {
	held := s.engine.Hold()
	defer held.Release()
	kept = map[uint64]error{}
	for _, d := range s.surplus(held.Version) {
		end, err := readEnd(held, d)
		if err != nil {
			kept[d.number] = err
			continue
		}
		files = append(files, leaving{d, end})
	}
	return files, kept
}

// numbersOf returns the numbers of files.
func numbersOf(files []leaving) (numbers []uint64) {
	for _, l := range files {
		numbers = append(numbers, l.number)
	}
	return numbers
}

// readEnd reads the end of a file.
func readEnd(held *engine.Held, d dataFile) (end []byte, err error) {
	file, err := held.Open(d.kind, d.number)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	end = make([]byte, min(d.size, endBytes))
	if n, err := file.ReadAt(end, d.size-int64(len(end))); n < len(end) {
		return nil, fmt.Errorf("read the end of %s: %w", d.kind.Name(d.number),
			errors.Join(err, io.ErrUnexpectedEOF))
	}
	return end, nil
}

// stored returns the files that the store has, up to the first that it does not have.
func (s *Shipper) stored(ctx context.Context, files []leaving) (there []leaving, err error) {
	for i, l := range files {
		if err := s.compareEnd(ctx, l); err != nil {
			return files[:i], err
		}
	}
	return files, nil
}

// moveToCache has the cache take files that are about to leave the folder, as long as it has room,
// so that they need not be fetched. What fails is fetched later.
func (s *Shipper) moveToCache(ctx context.Context, files []leaving) {
	if s.config.Fetch == nil {
		return
	}
	f := filling{of: s.engine.Version()}
	needed, pass := f.neededBy(), func(int) error { return context.Cause(ctx) }
	for _, l := range files {
		if room := s.moveFile(ctx, l.dataFile, pass, needed); !room {
			return
		}
	}
}

// moveFile is moveToCache for a file. It reports whether there was room.
func (s *Shipper) moveFile(
	ctx context.Context, d dataFile, pass func(int) error, needed func(folder.Kind, uint64) bool,
) (room bool) {
	held := s.engine.Hold() // for this file only, as in leaving
	defer held.Release()
	file, err := held.Open(d.kind, d.number)
	if err != nil {
		return true // it is obsolete by now
	}
	room, err = s.config.Fetch(ctx, d.kind, d.number, d.size, file, pass, needed)
	return errors.Join(err, file.Close()) == nil && room
}

// compareEnd returns an error unless the store has a file, as far as its end tells.
func (s *Shipper) compareEnd(ctx context.Context, l leaving) error {
	name, at := l.object(), l.size-int64(len(l.end))
	there, err := s.log.Store.Get(ctx, name, at, int64(len(l.end)))
	switch {
	case errors.Is(err, objstore.ErrNotExist):
		return corrupt.New(name, 0, "the object is missing; the file stays in the folder")
	case err == nil && !bytes.Equal(there, l.end):
		return corrupt.New(name, at, "the object is not what was stored; the file stays in the folder")
	}
	return err
}
