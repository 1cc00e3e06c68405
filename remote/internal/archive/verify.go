package archive

import (
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

// problemsMost is how many files an error of [Archive.Verify] names.
const problemsMost = 10

// Verified is what was found to be whole.
type Verified struct {
	First, End *object.State
	States     int   // that are stored from First on
	Files      int   // that versions from First on name
	Bytes      int64 // of these files
}

// Verify reads the log and the states from the first state on that can be restored, and looks for
// the files that they name. The error matches corrupt.Err if something is damaged or missing, and
// names it. A writer may run meanwhile.
func (a *Archive) Verify(ctx context.Context) (*Verified, error) {
	if err := a.log.Identify(ctx); err != nil {
		return nil, err
	}
	for {
		first, end, err := a.span(ctx)
		if err != nil {
			return nil, err
		}
		v, err := a.verifyFrom(ctx, first)
		if err == nil {
			return v, nil
		}
		// What seems to be missing may have been deleted after a bound that was created meanwhile.
		if bound, boundErr := a.log.Bound(ctx); boundErr != nil || bound == end.Bound {
			return nil, err
		}
	}
}

// verifyFrom verifies everything from a state on.
func (a *Archive) verifyFrom(ctx context.Context, first *object.State) (*Verified, error) {
	v := &Verified{First: first}
	states, err := a.log.States(ctx)
	if err != nil {
		return nil, err
	}
	files := history.FileSizes(first.Version)
	if err := a.log.CheckPast(ctx, first); err != nil {
		return nil, err
	}
	version := first.Version
	check := func(at *object.State) error {
		if at.Version != version {
			version = at.Version
			maps.Copy(files, history.FileSizes(version))
		}
		if _, stored := slices.BinarySearch(states, at.Number); !stored {
			return nil
		}
		v.States++
		return a.log.CheckState(ctx, at)
	}
	if _, stored := slices.BinarySearch(states, first.Number); stored {
		v.States++ // it was decoded, or follows from the first object of a clone
	}
	if v.End, err = a.log.Walk(ctx, first, check); err != nil {
		return nil, err
	}
	if n := len(states); n > 0 && states[n-1] > v.End.Number {
		return nil, corrupt.New("log", 0, "the log ends with object %d, and there is a state after "+
			"object %d", v.End.Number, states[n-1])
	}
	if _, err := a.log.Pins(ctx); err != nil {
		return nil, err
	}
	v.Files = len(files)
	for _, size := range files {
		v.Bytes += size
	}
	return v, a.verifyFiles(ctx, v.End, files)
}

// verifyFiles returns an error unless there are objects of at least the given sizes. The newest
// state is given.
func (a *Archive) verifyFiles(
	ctx context.Context, end *object.State, files map[string]int64,
) error {
	if err := clonestore.Lend(ctx, a.log, end); err != nil {
		return err
	}
	var problems []error
	wanted := maps.Clone(files)
	look := func(page []objstore.Object) error {
		for _, o := range page {
			if size, isWanted := wanted[o.Name]; isWanted && o.Size < size {
				problems = append(problems, corrupt.New(o.Name, o.Size,
					"the object ends, and the file has %d bytes", size))
			}
			delete(wanted, o.Name)
		}
		return nil
	}
	err := history.EachObject(ctx, a.log.Store, history.DataPrefix, look)
	if clone := clonestore.Of(a.log.Store); err == nil && clone != nil && len(wanted) > 0 {
		err = clone.EachLent(ctx, look)
	}
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		problems = append(problems, corrupt.New(name, 0, "the object is missing"))
	}
	if more := len(problems) - problemsMost; more > 0 {
		problems = append(problems[:problemsMost], fmt.Errorf("and %d more objects", more))
	}
	return errors.Join(problems...)
}
