package ship

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/clonestore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
)

// Claim implements [engine.Shipper]: it takes the role of the writer, if the folder continues what
// is in the store.
func (s *Shipper) Claim(found engine.Found) (claimed engine.Claimed, err error) {
	if s.settled {
		return s.claimSettled(found)
	}
	belongs := s.belonging(found)
	defer func() { _ = belongs() }() // no request goes on
	if found.New {
		// The database may get the identity of the one in the store.
		if err := belongs(); err != nil {
			return claimed, err
		}
	}
	s.log.Database = found.Database
	last, err := readClaim(found.Folder, found.Dir, found.Database)
	if err != nil {
		return claimed, err
	}
	if s.collector.local, err = localFiles(found); err != nil {
		return claimed, err
	}
	err = s.take(found.Branch, func(state *object.State) error {
		if err := cmp.Or(belongs(), continues(state, last, found)); err != nil {
			return err
		}
		return hasRest(state, found, s.collector.local)
	})
	err = cmp.Or(belongs(), err) // the log of another database cannot be read
	if errors.Is(err, corrupt.Err) {
		err = cmp.Or(s.belongs(found), err) // another process may have made it since
	}
	if err != nil {
		return claimed, err
	}
	claimed.First = s.epoch << history.EpochShift
	return claimed, writeClaim(found.Folder, found.Dir, s.writer.State())
}

// belonging begins to find out whether a folder may hold the database of the store, and returns
// what waits for the answer: nil, or why not.
func (s *Shipper) belonging(found engine.Found) (wait func() error) {
	return inBackground(func() error { return s.belongs(found) })
}

// inBackground begins a call, and returns what waits for its result.
func inBackground(call func() error) (wait func() error) {
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = call() })
	return func() error {
		running.Wait()
		return err
	}
}

// belongs returns an error if a folder does not hold the database of the store.
func (s *Shipper) belongs(found engine.Found) error {
	database, exists, err := history.Identify(s.context, s.log.Store)
	switch {
	case err != nil:
		return err
	case exists && found.New:
		return ErrStored
	case !exists && clonestore.Of(s.log.Store) != nil:
		return fmt.Errorf("make the clone first, with remote.Clone: %w", history.ErrNone)
	case !exists:
		err := s.log.WantUnused(s.context)
		if err != nil && s.isMade() { // meanwhile, by another process
			return s.belongs(found)
		}
		return err
	case database != found.Database:
		return fmt.Errorf("the folder %s holds database %x, and the store %x: %w", found.Dir,
			found.Database, database, ErrApart)
	}
	return nil
}

// Identifying begins to find out which database is in the store, and returns what waits for it: the
// error is [history.ErrNone] if there is none.
func (s *Shipper) Identifying() (wait func() error) {
	return inBackground(func() error { return s.log.Identify(s.context) })
}

// isMade reports whether there is a database in the store.
func (s *Shipper) isMade() bool {
	_, exists, err := history.Identify(s.context, s.log.Store)
	return err == nil && exists
}

// Claims returns the database in the store and its claims, which end with that of this shipper if
// it has been made.
func (s *Shipper) Claims(ctx context.Context) (database [16]byte, all history.Claims, err error) {
	if s.writer != nil {
		state := s.state()
		return state.Database, state.Claims, nil
	}
	if err := s.log.Identify(s.context); err != nil {
		return database, nil, err
	}
	end, err := s.log.End(ctx)
	if err == nil && len(end.Claims) == 0 {
		err = history.ErrNone
	}
	if err == nil {
		err = clonestore.Lend(ctx, s.log, end)
	}
	if err != nil {
		return database, nil, err
	}
	return end.Database, end.Claims, nil
}

// hasRest returns an error unless the store has what a folder lacks.
func hasRest(state *object.State, found engine.Found, local map[string]bool) error {
	for _, d := range filesBeyond(found.Version, state.Version) {
		if !local[d.object()] {
			return corrupt.New(filepath.Join(found.Dir, d.kind.Name(d.number)), 0,
				"the file is neither here nor in the store; open an empty folder")
		}
	}
	return nil
}

// localFiles returns the names that the files of a folder have in a store.
func localFiles(found engine.Found) (map[string]bool, error) {
	listing, err := folder.List(found.Folder, found.Dir)
	names := map[string]bool{}
	for kind, number := range listing.All() {
		if kind.HoldsData() {
			names[history.DataName(kind, number)] = true
		}
	}
	return names, err
}

// take takes the role of the writer, if check returns nil.
func (s *Shipper) take(branch uint64, check func(*object.State) error) (err error) {
	s.writer, err = s.log.ClaimIf(s.context, func(state *object.State) (object.Claim, error) {
		return object.Claim{
			Writer: s.config.Writer, Branch: branch, Window: uint64(s.config.Window),
		}, errors.Join(check(state), history.WantEpoch(state), clonestore.Lend(s.context, s.log, state))
	})
	if err == nil {
		s.epoch = s.writer.State().Epoch
	}
	return err
}

// continues returns an error unless the folder has all commits of the state, and of nobody else.
func continues(s *object.State, last object.ClaimAt, found engine.Found) error {
	i, known := s.ClaimIndex(last.Number)
	known = known && s.Claims[i].ID == last.ID
	switch {
	case !known && last.Number > 0 && !s.ActedSince(0):
		return fmt.Errorf("the folder %s was shipped to another store, or to this one before it was "+
			"emptied: back it up, and open the backup with this store: %w", found.Dir, ErrApart)
	case !s.ActedSince(0):
		return nil // nothing was shipped
	case !known:
		return fmt.Errorf("the folder %s was not shipped to this store: %w", found.Dir, ErrApart)
	}
	end := s.Commit
	if i < len(s.Ends) {
		end = s.Ends[i].End
	}
	switch {
	case end < s.Commit && found.Commit > end:
		return fmt.Errorf("another writer has gone on after commit %d; commits %d to %d are only in "+
			"the folder %s: move it away to keep them, and open an empty one: %w", end, end+1,
			found.Commit, found.Dir, ErrApart)
	case s.ActedSince(i + 1):
		return fmt.Errorf("another writer has gone on after commit %d, and may have deleted what the "+
			"folder %s needs in the store: open an empty folder, and move this one away if it is to be "+
			"kept (it ends at commit %d): %w", end, found.Dir, found.Commit, ErrApart)
	case end < s.Commit || found.Commit < s.Commit:
		return fmt.Errorf("the folder %s ends at commit %d, and the store at %d: open an empty "+
			"folder, and remove this one: %w", found.Dir, found.Commit, s.Commit, ErrApart)
	}
	return nil
}

// A file with a claim says that the folder has everything that was shipped by that claim: a magic,
// the identity of the database, the number and the id of the claim, and a checksum.
const (
	claimMagic = "STOATCLM"
	claimBytes = 8 + 16 + 8 + 16 + checksum.Size
)

// writeClaim records the newest claim of a state in the folder, durably, in the place of earlier
// ones.
func writeClaim(files vfs.Files, dir string, s *object.State) error {
	claim := s.Claims[len(s.Claims)-1]
	p := append([]byte(claimMagic), s.Database[:]...)
	p = binary.LittleEndian.AppendUint64(p, claim.Number)
	p = append(p, claim.ID[:]...)
	p = binary.LittleEndian.AppendUint32(p, checksum.Of(p))
	earlier, err := claimNames(files, dir)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%s%06d", folder.ClaimPrefix, claim.Number)
	if slices.Contains(earlier, name) {
		return fmt.Errorf("%s holds %s, which is of another store: %w", dir, name, ErrApart)
	}
	file, err := files.Create(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	_, err = file.WriteAt(p, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err == nil {
		err = files.SyncDir(dir)
	}
	for i := 0; err == nil && i < len(earlier); i++ {
		err = files.Remove(filepath.Join(dir, earlier[i]))
	}
	return err
}

func claimNames(files vfs.Files, dir string) ([]string, error) {
	names, err := files.List(dir)
	return slices.DeleteFunc(names, func(name string) bool {
		return !strings.HasPrefix(name, folder.ClaimPrefix)
	}), err
}

// readClaim returns the newest claim that is recorded in a folder; zero if there is none. One that
// was not written completely does not count.
func readClaim(files vfs.Files, dir string, database [16]byte) (last object.ClaimAt, err error) {
	names, err := claimNames(files, dir)
	if err != nil {
		return last, err
	}
	for _, name := range names {
		p, err := readClaimFile(files, filepath.Join(dir, name))
		if err != nil {
			return last, err
		}
		if string(p[:8]) != claimMagic || [16]byte(p[8:]) != database ||
			binary.LittleEndian.Uint32(p[48:]) != checksum.Of(p[:48]) {
			continue
		}
		if n := binary.LittleEndian.Uint64(p[24:]); n > last.Number {
			last = object.ClaimAt{Number: n, ID: object.ID(p[32:])}
		}
	}
	return last, nil
}

func readClaimFile(files vfs.Files, name string) (p []byte, err error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	p = make([]byte, claimBytes)
	if _, err := file.ReadAt(p, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return p, nil
}
