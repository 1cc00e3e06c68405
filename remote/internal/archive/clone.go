package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// cloneWriter is the name of the writer of the first claim of a clone.
const cloneWriter = "clone"

// Clone makes the store of child, which is empty or has what an earlier try has left, a clone of
// the database as of a moment. The name of its origin is for people. It returns the commit and the
// time that the clone is of.
//
// First the draft in child names the clone, then the parent has a pin of that name, and then one
// object is all of the clone: so each try goes on with what it finds, and its end decides.
func (a *Archive) Clone(
	ctx context.Context, child *Archive, when When, name string,
) (commit, at uint64, err error) {
	if len(name) > object.OriginNameBytesMax {
		return 0, 0, fmt.Errorf("option Name has %d bytes, at most %d", len(name),
			object.OriginNameBytesMax)
	}
	for tries := 1; ; tries++ {
		commit, at, err = a.tryClone(ctx, child, when, name)
		// What was the newest commit may be behind the pin that another try has made meanwhile.
		if !when.isNow() || tries == cloneTries || !errors.Is(err, history.ErrNotKept) {
			return commit, at, err
		}
	}
}

// cloneTries is how often the newest commit is cloned if that is out of date by then.
const cloneTries = 3

// tryClone is one try of Clone.
func (a *Archive) tryClone(
	ctx context.Context, child *Archive, when When, name string,
) (commit, at uint64, err error) {
	state, end, err := a.stateAt(ctx, when)
	if err != nil {
		return 0, 0, err
	}
	if state.Number < end.Bound { // a pin keeps it; another one would come too late
		return 0, 0, fmt.Errorf("commit %d is kept by a pin that is older than the unlink bound, so it "+
			"can be restored, and not cloned: %w", state.Commit, history.ErrNotKept)
	}
	origin := history.OriginOf(state, end, name)
	child.log.Database = a.log.Database
	vacant := child.log.WantVacant(ctx) // before the log: another try may make it at any time
	first, err := history.First(ctx, child.log.Store)
	switch {
	case err == nil && first.Database != a.log.Database:
		return 0, 0, errTaken
	case errors.Is(err, objstore.ErrNotExist) && vacant != nil:
		return 0, 0, vacant
	case errors.Is(err, objstore.ErrNotExist):
		made, err := a.found(ctx, child, state, origin)
		if made || err != nil {
			return state.Commit, state.Time, err
		}
	case err != nil:
		return 0, 0, err
	}
	return a.resume(ctx, child, origin, when)
}

// errTaken refuses a store that has anything but a clone of the same database.
var errTaken = fmt.Errorf("the store of the clone has another database: %w", objstore.ErrExists)

// found creates a clone, and reports whether it did: another try may have, meanwhile.
func (a *Archive) found(
	ctx context.Context, child *Archive, state *object.State, origin *object.Origin,
) (made bool, err error) {
	id, err := child.log.Draft(ctx, origin.First)
	if err != nil {
		return false, err
	}
	// What cannot be cloned leaves no pin. What was read before the pin counts as well: log objects
	// do not change, and a pin that is there in time keeps all that the state needs.
	first, err := a.firstOf(ctx, state, origin, id)
	if a.isDeleted(ctx, state.Number, err) {
		err = fmt.Errorf("%w: %w", history.ErrNotKept, err)
	}
	if errors.Is(err, object.ErrTooLarge) {
		err = fmt.Errorf("too many commits are in no table yet: have the writer of the database compact "+
			"it, or clone it as of an earlier commit: %w", err)
	}
	if err != nil {
		return false, err
	}
	pin := history.ClonePin(id)
	if err := a.log.PinAt(ctx, pin, pinned(origin, state.Time)); err != nil {
		return false, err
	}
	if made, err = child.log.Found(ctx, first); err != nil {
		err = fmt.Errorf("%w; the store of the parent may have the pin %s: clone into the same store "+
			"again, or remove the pin", err, pin)
	}
	return made, err
}

// pinned returns the position of an origin as a state.
func pinned(origin *object.Origin, at uint64) *object.State {
	return &object.State{Header: object.Header{Number: origin.Number, Time: at}, Commit: origin.Commit}
}

// firstOf returns the first object of a clone of a state.
func (a *Archive) firstOf(
	ctx context.Context, state *object.State, origin *object.Origin, id object.ID,
) (*object.Log, error) {
	branch, err := engine.NewBranchOff(state.Version.Branch)
	if err == nil {
		err = history.WantEpoch(state)
	}
	if err != nil {
		return nil, err
	}
	first := &object.Log{
		Header: object.Header{
			Database: a.log.Database, Number: 1, Epoch: origin.Epoch + 1, ID: id,
			Time: max(a.log.Now(), state.Time),
		},
		Claim: &object.Claim{Writer: cloneWriter, Branch: branch, Window: 1},
		Parts: []object.Part{{Origin: origin}},
	}
	if edit := history.Start(a.log.Database).Version.EditTo(state.Version); edit != nil {
		first.Parts = append(first.Parts, object.Part{Edit: edit})
	}
	if state.Commit > state.Version.LastCommit {
		commits, err := a.commitsOf(ctx, state)
		if err != nil {
			return nil, err
		}
		first.Parts = append(first.Parts, object.Part{Commits: commits})
	}
	return first, nil
}

// commitsOf returns the commits of a state that are in no table. The error matches
// object.ErrTooLarge if no object has room for them.
func (a *Archive) commitsOf(
	ctx context.Context, state *object.State,
) (*object.Commits, error) {
	bytes, c := 0, &object.Commits{First: state.Version.LastCommit + 1}
	err := a.log.BatchedCommits(ctx, state, func(_ uint64, batch []byte) error {
		if bytes += len(batch); bytes > object.EditBytesMax {
			return object.ErrTooLarge
		}
		c.Batches = append(c.Batches, batch)
		return nil
	})
	return c, err
}

// resume returns what the clone is of that an earlier try has made, and makes sure that it has its
// pin. It is an error if it is no clone of the origin's database.
func (a *Archive) resume(
	ctx context.Context, child *Archive, origin *object.Origin, when When,
) (commit, at uint64, err error) {
	first, err := child.log.FirstObject(ctx)
	if err != nil {
		return 0, 0, err
	}
	if len(first.Parts) == 0 || first.Parts[0].Origin == nil ||
		first.Parts[0].Origin.First != origin.First {
		return 0, 0, errTaken
	}
	was := first.Parts[0].Origin
	if !when.isNow() && was.Commit != origin.Commit {
		return 0, 0, fmt.Errorf("the store has a clone of commit %d already: %w", was.Commit,
			objstore.ErrExists)
	}
	return was.Commit, first.Time, a.putBack(ctx, child, history.ClonePin(first.ID),
		pinned(was, first.Time))
}

// putBack makes sure that a clone has its pin, unless it is detached.
func (a *Archive) putBack(
	ctx context.Context, child *Archive, name string, at *object.State,
) error {
	end, err := child.log.End(ctx)
	if err != nil || end.Origin == nil {
		return err
	}
	if err := a.log.WantCloned(ctx, end.Origin, name); err != nil {
		return err
	}
	created, err := a.log.PutBack(ctx, name, at)
	if created {
		end, err = child.log.End(ctx)
	}
	if err == nil && end.Origin == nil { // it has been detached meanwhile, which removes the pin
		err = a.log.Unpin(ctx, name)
	}
	return err
}
