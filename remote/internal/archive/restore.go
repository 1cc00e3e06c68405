package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/clonestore"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// When says as of when a copy is made. The zero value means now.
type When struct {
	Position engine.Position // after this commit; 0: not said
	Commit   uint64          // after the commit of this number; 0: not said
	Time     time.Time       // with what was shipped by then; zero: not said
}

func (w When) isNow() bool { return w.Position == 0 && w.Commit == 0 && w.Time.IsZero() }

// Restore makes a folder, which is empty or has what an earlier try has left, a copy of the
// database in the store.
func (a *Archive) Restore(ctx context.Context, files vfs.FS, dir string, when When) error {
	for {
		state, end, err := a.stateAt(ctx, when)
		if err == nil {
			err = clonestore.Lend(ctx, a.log, end)
		}
		if err != nil {
			return err
		}
		err = a.restoreTo(ctx, state, files, dir)
		if err == nil || !a.isDeleted(ctx, max(state.Number, end.Bound), err) {
			return err
		}
	}
}

// isDeleted reports whether an error may come from what was deleted since the unlink bound was
// read, which is above a number then.
func (a *Archive) isDeleted(ctx context.Context, number uint64, err error) bool {
	if !errors.Is(err, corrupt.Err) && !errors.Is(err, objstore.ErrNotExist) {
		return false
	}
	bound, err := a.log.Bound(ctx)
	return err == nil && bound > number
}

// stateAt returns the state to make a copy of, and the newest one.
func (a *Archive) stateAt(ctx context.Context, when When) (at, end *object.State, err error) {
	end, err = a.log.Present(ctx)
	if err != nil {
		return nil, nil, err
	}
	commit := when.Commit
	if when.Position != 0 {
		commit, err = commitOf(end, when.Position)
	}
	at = end
	switch {
	case err != nil:
	case when.Position != 0, commit != 0:
		at, err = a.log.AtCommit(ctx, end, commit)
	case !when.Time.IsZero():
		at, err = a.log.AtTime(ctx, end, uint64(max(0, when.Time.UnixMilli())))
	}
	return at, end, err
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

// restoreTo makes a folder a copy of a state.
func (a *Archive) restoreTo(
	ctx context.Context, state *object.State, files vfs.FS, dir string,
) error {
	err := engine.Rebuild(ctx, files, dir, engine.Parts{
		Database: state.Database, Version: state.Version,
		Fetch: a.fetch,
		Commits: func(apply func(commit uint64, payload []byte) error) error {
			return a.log.BatchedCommits(ctx, state, apply)
		},
	})
	if names := objectsOf(err); len(names) > 0 {
		err = fmt.Errorf("%w\nin the store: %s", err, strings.Join(names, ", "))
	}
	return err
}

// objectsOf returns the names of the objects of the files that an error says are damaged, by the
// names that they have in a folder.
func objectsOf(err error) (names []string) {
	switch e := err.(type) {
	case *corrupt.Error:
		kind, number := folder.Parse(filepath.Base(e.File))
		if name := history.DataName(kind, number); kind.HoldsData() && name != e.File {
			names = append(names, name)
		}
	case interface{ Unwrap() []error }:
		for _, err := range e.Unwrap() {
			names = append(names, objectsOf(err)...)
		}
	case interface{ Unwrap() error }:
		return objectsOf(e.Unwrap())
	}
	return names
}

// fetch writes a piece of a file, of the object that holds it. What has come before a request fails
// is not asked for again.
func (a *Archive) fetch(
	ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
) error {
	name := history.DataName(kind, number)
	file := &target{to: to}
	for tries := 1; ; tries++ {
		written, err := objstore.GetTo(ctx, a.log.Store, name, off, n, file)
		off, n = off+written, n-written
		switch {
		case file.err != nil:
			return file.err
		case errors.Is(err, objstore.ErrNotExist), err == nil && n > 0:
			return corrupt.New(name, off, "the object is missing, or ends before %d", off+n)
		case err == nil, corrupt.IsLasting(err):
			return err
		case written > 0:
			tries = 0
		case tries == retry.Tries:
			return err
		}
		if !retry.Sleep(ctx, retry.BackOff(max(tries, 1)), nil) {
			return fmt.Errorf("get %s: %w", name, errors.Join(context.Cause(ctx), err))
		}
	}
}

// target is where a piece goes. It knows an error of its own, which no other request would mend.
type target struct {
	to  io.Writer
	err error
}

// Write implements [io.Writer].
func (t *target) Write(p []byte) (n int, err error) {
	n, err = t.to.Write(p)
	if err != nil {
		t.err = err
	}
	return n, err
}
