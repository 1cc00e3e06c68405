package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ErrFenced reports a writer that has lost its role: another one has claimed it, or is about to.
var ErrFenced = errors.New("this process is not the writer of the database any more")

// errOvertaken returns the error of a writer in whose place there is an object of another one.
func errOvertaken(there *object.Log) error {
	if there.Claim != nil && there.Claim.Writer != "" {
		return fmt.Errorf("%w: %q has taken over", ErrFenced, there.Claim.Writer)
	}
	return fmt.Errorf("%w: another writer has taken over", ErrFenced)
}

// Log is the log of one database in a store.
type Log struct {
	Store    objstore.Store
	Codec    *object.Codec
	Database [16]byte

	// NewID returns random bits for a new object.
	NewID func() object.ID
	// Now returns the time in milliseconds since 1970.
	Now func() uint64
	// Pause waits before the next try of a request whose outcome is unknown, the first one with
	// tries 1. Its error ends the tries.
	Pause func(ctx context.Context, tries int) error
	// Failed, unless it is nil, is told why a request failed that is made again after a pause.
	Failed func(error)
	// Parallel is how many requests are made at the same time, if there are many. 0: parallelMost.
	Parallel int

	short       int   // how many log objects are listed before the newest state is known; 0: shortMost
	opening     int64 // how many bytes of log objects are fetched together; 0: openingMost
	anyDatabase bool  // which one is in the store is not known yet
}

// Newest returns the newest state, or [Start] if there is none.
func (l *Log) Newest(ctx context.Context) (*object.State, error) {
	s, err := l.newestFrom(ctx, 1)
	if s == nil && err == nil {
		s = Start(l.Database)
	}
	return s, err
}

// newestFrom returns the newest state if it is of log object n or a later one, and otherwise nil.
func (l *Log) newestFrom(ctx context.Context, n uint64) (*object.State, error) {
	for past := (vanished{log: l}); ; {
		number, err := l.newestNumber(ctx)
		if err != nil || number < n {
			return nil, err
		}
		s, err := l.stateAt(ctx, number)
		if errors.Is(err, objstore.ErrNotExist) {
			if err := past.again(ctx, number); err != nil {
				return nil, err
			}
			continue
		}
		return s, err
	}
}

// vanished is the number of a state that was listed, and then is missing.
type vanished struct {
	log    *Log
	number uint64
	tries  int
}

// again returns nil once the newest state may be asked for again, given the number of the one that
// is missing: a newer one exists, and this one was deleted. If it is listed nevertheless, the
// listing is old, or the object is lost.
func (v *vanished) again(ctx context.Context, number uint64) error {
	if number != v.number {
		v.number, v.tries = number, 0
		return nil
	}
	missing := corrupt.New(stateName(number), 0, "the object is listed, and missing")
	if v.tries++; v.tries == fetchTries {
		return missing
	}
	return v.log.pause(ctx, v.tries, missing)
}

// newestNumber returns the number of the log object that the newest state is of; 0 if there is no
// state.
func (l *Log) newestNumber(ctx context.Context) (uint64, error) {
	listed, err := l.Store.List(ctx, statePrefix, "", 1)
	if err != nil || len(listed) == 0 {
		return 0, err
	}
	name := listed[0].Name
	number, ok := stateNumber(name)
	switch {
	case !ok:
		return 0, corrupt.New(name, 0, "this is not the name of a state")
	case listed[0].Size > object.StateBytesMax:
		return 0, corrupt.New(name, 0, "the state has %d bytes", listed[0].Size)
	}
	return number, nil
}

// get returns log object n. The error matches objstore.ErrNotExist if there is none.
func (l *Log) get(ctx context.Context, n uint64) (*object.Log, error) {
	p, err := l.read(ctx, n)
	if err != nil {
		return nil, err
	}
	return l.decode(n, p)
}

// read returns the bytes of log object n.
func (l *Log) read(ctx context.Context, n uint64) ([]byte, error) {
	return l.Store.Get(ctx, logName(n), 0, object.EditBytesMax+1)
}

// decode decodes log object n.
func (l *Log) decode(n uint64, p []byte) (*object.Log, error) {
	name := logName(n)
	o, err := l.Codec.DecodeLog(name, p)
	if err != nil {
		return nil, err
	}
	return o, l.expect(name, &o.Header, logName(o.Number))
}

// expect returns an error if an object is not what its name says.
func (l *Log) expect(name string, h *object.Header, want string) error {
	switch {
	case h.Database != l.Database && !l.anyDatabase:
		return corrupt.New(name, 0, "the object belongs to another database, %x", h.Database)
	case name != want:
		return corrupt.New(name, 0, "the object belongs at %s", want)
	}
	return nil
}

// advance returns the state after one more object of the log, and that object. The error matches
// objstore.ErrNotExist at the end of the log, and errBreak if the object continues another history.
func (l *Log) advance(ctx context.Context, s *object.State) (*object.State, *object.Log, error) {
	o, err := l.get(ctx, s.Number+1)
	if err != nil {
		return nil, nil, err
	}
	switch verdict := Judge(s, o); verdict {
	case Void:
		return Skip(s), o, nil
	case Breaks, Strays:
		err := fmt.Errorf("%w: %w", errBreak, corrupt.New(logName(o.Number), 0,
			"the object does not follow log object %d, id %x", s.Number, s.ID))
		if verdict == Strays {
			err = fmt.Errorf("%w: %w", errStray, err)
		}
		return nil, nil, err
	}
	next, err := Next(s, o)
	if err != nil {
		return nil, nil, corrupt.New(logName(o.Number), 0, "%v", err)
	}
	return next, o, nil
}

// errBreak reports an object that continues another history than the one that was read.
var errBreak = errors.New("the object continues another history")

// errStray reports one that is void unless a newer state than what was read is stored: if there is
// one, what was read is the past, and this may be the log.
var errStray = errors.New("the object may be void")

// create stores a new log object, with tries until the outcome is known. An error that matches
// objstore.ErrUnknown leaves it unknown; after any other one, nothing was stored.
func (l *Log) create(ctx context.Context, o *object.Log, p []byte) (answer, error) {
	name := logName(o.Number)
	for tries := 1; ; tries++ {
		failed := l.Store.Create(ctx, name, p)
		switch {
		case failed == nil:
			return answer{stored: true}, nil
		case errors.Is(failed, objstore.ErrExists):
			return l.whose(ctx, o.Number, p)
		case !errors.Is(failed, objstore.ErrUnknown) && tries == 1:
			return answer{}, failed // no effect, so no try of it is under way either
		}
		if err := l.pause(ctx, tries, failed); err != nil {
			return answer{}, fmt.Errorf("create %s: %w: %w", name, objstore.ErrUnknown, err)
		}
	}
}

// whose returns whether the object that has taken a number is the one given, with tries until it
// can be read. All of it is compared: the id of another one could be the same if a copy of this
// process has drawn it. One that is damaged may be either.
func (l *Log) whose(ctx context.Context, n uint64, p []byte) (answer, error) {
	for tries := 1; ; tries++ {
		there, err := l.read(ctx, n)
		if err == nil && bytes.Equal(there, p) {
			return answer{stored: true}, nil
		}
		var o *object.Log
		if err == nil {
			o, err = l.decode(n, there)
		}
		switch {
		case err == nil:
			return answer{there: o}, nil
		case isNewer(err):
			return answer{newer: err}, nil
		case errors.Is(err, objstore.ErrNotExist):
			return answer{}, nil
		case corrupt.IsLasting(err):
			return answer{}, fmt.Errorf("read back: %w: %w", objstore.ErrUnknown, err)
		}
		if err := l.pause(ctx, tries, err); err != nil {
			return answer{}, fmt.Errorf("read back %s: %w: %w", logName(n), objstore.ErrUnknown, err)
		}
	}
}

// isNewer reports whether an object is whole, and of a version that this program does not know.
func isNewer(err error) bool {
	return errors.Is(err, corrupt.ErrFormat) && !errors.Is(err, corrupt.Err)
}

// errNewer returns the error of a writer in whose place there is such an object. Whatever that
// says, a writer that ends is safe.
func errNewer(err error) error {
	return fmt.Errorf("%w: %w: a newer program writes to the database: %w", ErrFenced,
		objstore.ErrUnknown, err)
}

// pause waits before the next try of a request, and says why it failed if ctx ends.
func (l *Log) pause(ctx context.Context, tries int, failed error) error {
	if l.Failed != nil {
		l.Failed(failed)
	}
	if err := l.Pause(ctx, tries); err != nil {
		return errors.Join(err, failed)
	}
	return nil
}

// Save stores a state, and reports whether it did: not if the last object is void, since a state is
// of one that counts.
func (l *Log) Save(ctx context.Context, s *object.State) (saved bool, err error) {
	if _, void := slices.BinarySearch(s.Void, s.Number); void {
		return false, nil
	}
	stored := *s
	stored.Previous = object.ID{}
	p, err := l.Codec.EncodeState(&stored)
	if err != nil {
		return false, err
	}
	err = l.Store.Put(ctx, stateName(s.Number), bytes.NewReader(p), int64(len(p)))
	return err == nil, err
}

// Identify returns the identity of the database whose log is in a store; ok is false if there is
// none.
func Identify(
	ctx context.Context, store objstore.Store,
) (database [16]byte, ok bool, err error) {
	first, err := First(ctx, store)
	if errors.Is(err, objstore.ErrNotExist) {
		return database, false, nothing(ctx, store)
	}
	return first.Database, err == nil, err
}

// ErrNone reports that a store has no database.
var ErrNone = errors.New("there is no database in the store")

// Identify finds out which database is in the store, whose log this is from then on.
func (l *Log) Identify(ctx context.Context) error {
	database, exists, err := Identify(ctx, l.Store)
	if err == nil && !exists {
		err = ErrNone
	}
	l.Database = database
	return err
}

// nothing returns an error if a store without the first log object, which is never deleted, has any
// other one.
func nothing(ctx context.Context, store objstore.Store) error {
	listed, err := store.List(ctx, logPrefix, "", 1)
	if err == nil && len(listed) > 0 && listed[0].Name != logName(1) { // or it is there by now
		err = corrupt.New(logName(1), 0, "the object is missing, and there is %s", listed[0].Name)
	}
	return err
}

// Commits calls fn with each commit of a state that is above the last one in its version, in order.
func (l *Log) Commits(
	ctx context.Context, s *object.State, fn func(commit uint64, batch []byte) error,
) error {
	next := s.Version.LastCommit + 1
	for _, pending := range s.Pending {
		o, err := l.get(ctx, pending.Number)
		if err != nil {
			return err
		}
		for _, part := range o.Parts {
			if part.Commits == nil {
				continue
			}
			for i, batch := range part.Commits.Batches {
				commit := part.Commits.First + uint64(i)
				if commit < next || commit > s.Commit {
					continue
				}
				if commit > next {
					return corrupt.New(logName(o.Number), 0, "commit %d follows commit %d", commit, next-1)
				}
				if err := fn(commit, batch); err != nil {
					return err
				}
				next++
			}
		}
	}
	if next <= s.Commit {
		return corrupt.New(stateName(s.Number), 0, "the log ends at commit %d, the state at %d", next-1,
			s.Commit)
	}
	return nil
}

// End returns the state at the end of the log.
func (l *Log) End(ctx context.Context) (*object.State, error) {
	f, err := l.Follow(ctx)
	if err != nil {
		return nil, err
	}
	for {
		if _, moved, err := f.Next(ctx); err != nil || !moved {
			return f.State(), err
		}
	}
}
