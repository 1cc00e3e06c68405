package ship

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

const (
	// fetchBytes is how much of a file is fetched by one request, and fetchParts how many such
	// requests are on their way at a time for each file, of which two are.
	fetchBytes, fetchParts = 2 << 20, 4
	// fetchTries is how often a request is tried: for 20 s or so, since a restore that fails begins
	// anew.
	fetchTries = 12
)

// Source reads a database in a store. Safe for concurrent use once the database is known.
type Source struct {
	log     *history.Log
	context context.Context // of opening
}

// NewSource returns the source of the database in a store. The context is for requests until the
// database is open.
func NewSource(ctx context.Context, store objstore.Store) (*Source, error) {
	codec, err := object.NewCodec()
	if err != nil {
		return nil, err
	}
	return &Source{context: ctx, log: &history.Log{
		Store: store, Codec: codec,
		NewID: func() (id object.ID) {
			_, _ = rand.Read(id[:]) // never fails
			return id
		},
		Now: func() uint64 { return uint64(time.Now().UnixMilli()) },
		Pause: func(ctx context.Context, tries int) error {
			sleep(ctx, backOff(tries), nil)
			return context.Cause(ctx)
		},
	}}, nil
}

// Log returns the log in the store.
func (s *Source) Log() *history.Log { return s.log }

// ErrNone reports that a store has no database.
var ErrNone = errors.New("there is no database in the store")

// Identify finds out which database is in the store.
func (s *Source) Identify() error {
	database, exists, err := history.Identify(s.context, s.log.Store, s.log.Codec)
	if err == nil && !exists {
		err = ErrNone
	}
	s.log.Database = database
	return err
}

// Identifying begins [Source.Identify], and returns what waits for it.
func (s *Source) Identifying() (wait func() error) {
	var running sync.WaitGroup
	var err error
	running.Go(func() { err = s.Identify() })
	return func() error {
		running.Wait()
		return err
	}
}

// When says as of when a copy is made. The zero value means now.
type When struct {
	Position engine.Position // after this commit; 0: not said
	Commit   uint64          // after the commit of this number; 0: not said
	Time     time.Time       // with what was shipped by then; zero: not said
}

// Rebuild makes a folder, which is empty or has what an earlier try has left, a copy of the
// database in the store.
func (s *Source) Rebuild(ctx context.Context, files vfs.FS, dir string, when When) error {
	if err := s.Identify(); err != nil {
		return err
	}
	for {
		state, err := s.stateAt(ctx, when)
		if err != nil {
			return err
		}
		err = s.rebuild(ctx, state, files, dir)
		if err == nil || !s.isPast(ctx, state, err) {
			return err
		}
	}
}

// isPast reports whether an error may come from what was deleted since a state was read.
func (s *Source) isPast(ctx context.Context, state *object.State, err error) bool {
	if !errors.Is(err, corrupt.Err) && !errors.Is(err, objstore.ErrNotExist) {
		return false
	}
	bound, err := s.log.Bound(ctx)
	return err == nil && bound > state.Number
}

// stateAt returns the state to make a copy of.
func (s *Source) stateAt(ctx context.Context, when When) (*object.State, error) {
	end, err := s.log.End(ctx)
	if err != nil {
		return nil, err
	}
	commit := when.Commit
	if when.Position != 0 {
		commit, err = commitOf(end, when.Position)
	}
	switch {
	case err != nil:
		return nil, err
	case when.Position != 0, commit != 0:
		return s.log.AtCommit(ctx, end, commit)
	case !when.Time.IsZero():
		return s.log.AtTime(ctx, end, uint64(max(0, when.Time.UnixMilli())))
	}
	return end, nil
}

// commitOf returns the commit of a position in the history that ends with a state.
func commitOf(end *object.State, p engine.Position) (uint64, error) {
	commit := p.Commit()
	if engine.PositionOf(end.Version.Branch, commit) == p {
		return commit, nil
	}
	for _, b := range slices.Backward(end.Ends) {
		switch {
		case engine.PositionOf(b.Branch, commit) != p:
		case commit > b.End:
			return 0, fmt.Errorf("commit %d, of a branch that ended with commit %d: %w", commit, b.End,
				history.ErrLost)
		default:
			return commit, nil
		}
	}
	return 0, errors.New("the position is of another database")
}

// rebuild makes a folder a copy of a state.
func (s *Source) rebuild(
	ctx context.Context, state *object.State, files vfs.FS, dir string,
) error {
	return engine.Rebuild(ctx, files, dir, engine.Parts{
		Database: state.Database, Version: state.Version,
		Fetch: s.fetch,
		Commits: func(apply func(commit uint64, payload []byte) error) error {
			return s.log.Commits(ctx, state, apply)
		},
	})
}

// fetch fills a file with the object that holds it. Several parts are on their way at a time, so
// that the answers' delay does not leave the network idle.
func (s *Source) fetch(
	ctx context.Context, kind folder.Kind, number uint64, size int64, to vfs.File,
) error {
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	name := history.DataName(kind, number)
	var parts [fetchParts]chan part // of the parts that follow, by their numbers modulo the length
	ask := func(at int64) {
		if at >= size {
			return
		}
		answer := make(chan part, 1)
		parts[at/fetchBytes%fetchParts] = answer
		running.Go(func() {
			p, err := s.get(ctx, name, at, min(size-at, fetchBytes))
			answer <- part{p, err}
		})
	}
	for i := range int64(fetchParts) {
		ask(i * fetchBytes)
	}
	for at := int64(0); at < size; at += fetchBytes {
		got := <-parts[at/fetchBytes%fetchParts]
		if errors.Is(got.err, objstore.ErrNotExist) ||
			got.err == nil && int64(len(got.bytes)) < min(size-at, fetchBytes) {
			return corrupt.New(name, at, "the object is missing, or ends before %d", size)
		}
		if got.err != nil {
			return got.err
		}
		if _, err := to.WriteAt(got.bytes, at); err != nil {
			return err
		}
		ask(at + fetchParts*fetchBytes)
	}
	return nil
}

// part is what a request for a part of a file led to.
type part struct {
	bytes []byte
	err   error
}

// get is Get with some tries.
func (s *Source) get(ctx context.Context, name string, off, n int64) (p []byte, err error) {
	for tries := 1; ; tries++ {
		p, err = s.log.Store.Get(ctx, name, off, n)
		if err == nil || errors.Is(err, objstore.ErrNotExist) || tries == fetchTries {
			return p, err
		}
		if !sleep(ctx, backOff(tries), nil) {
			return nil, fmt.Errorf("get %s: %w", name, errors.Join(context.Cause(ctx), err))
		}
	}
}

// Pin pins the end of the log of the database in the store.
func (s *Source) Pin(ctx context.Context, name string) (*object.Pin, error) {
	if err := s.Identify(); err != nil {
		return nil, err
	}
	return s.log.Pin(ctx, name)
}

// Pins returns the pins of the database in the store.
func (s *Source) Pins(ctx context.Context) ([]history.NamedPin, error) {
	if err := s.Identify(); err != nil {
		return nil, err
	}
	return s.log.Pins(ctx)
}

// Unpin removes a pin.
func (s *Source) Unpin(ctx context.Context, name string) error { return s.log.Unpin(ctx, name) }
