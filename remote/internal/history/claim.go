package history

import (
	"cmp"
	"context"
	"errors"
	"math"

	"github.com/stoatdb/stoat/remote/internal/object"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Claim takes the role of the writer. The claim says who takes it; its base is set, and a window of
// 0 becomes 1. The writer before, if it still runs, is fenced from then on. After an error, a claim
// may have been created, or may be later: then it has no writer, and the next claim ends it.
func (l *Log) Claim(ctx context.Context, claim object.Claim) (*Writer, error) {
	return l.ClaimIf(ctx, func(*object.State) (object.Claim, error) { return claim, nil })
}

// ClaimIf is [Log.Claim] with a claim that depends on the state at the end of the log, which the
// claim then follows. It may be asked several times. Its error ends the try.
func (l *Log) ClaimIf(
	ctx context.Context, decide func(*object.State) (object.Claim, error),
) (*Writer, error) {
	broken := uint64(math.MaxUint64) // the base of the last try that met a break
	for taken := false; ; {
		s, ids, err := l.readAll(ctx, taken)
		if errors.Is(err, errBreak) && ids.base != broken {
			broken = ids.base // what was read is the past, so a newer state is stored
			continue
		}
		if err != nil {
			return nil, err
		}
		claim, err := decide(s)
		if err != nil {
			return nil, err
		}
		claim.Base, claim.Window = ids.base, max(claim.Window, 1)
		s, err = l.createClaim(ctx, s, claim)
		if errors.Is(err, errTaken) {
			taken = true
			continue
		}
		if err != nil {
			return nil, err
		}
		counts, err := l.lookBack(ctx, s, ids)
		if err != nil {
			return nil, err
		}
		if counts {
			return &Writer{log: l, state: s, base: ids.base, made: new(made)}, nil
		}
	}
}

// errTaken reports that another object has taken the number of a claim.
var errTaken = errors.New("the number is taken")

// readIDs is the ids of the objects that a process has read, by their numbers, beginning with the
// state at base.
type readIDs struct {
	base uint64
	ids  map[uint64]object.ID
}

// newReadIDs returns what a process has read that begins with a state.
func newReadIDs(s *object.State) readIDs {
	return readIDs{s.Number, map[uint64]object.ID{s.Number: s.ID}}
}

// forget drops the ids of objects before a state that was stored. Nobody asks for them any more,
// since a newest state is only replaced by newer ones.
func (r *readIDs) forget(before uint64) {
	for n := range r.ids {
		if n < before {
			delete(r.ids, n)
		}
	}
}

// readAll returns the state at the end of the log, as it was listed: whoever creates the next
// object finds out whether there is one by now. With more set, it asks for further objects until
// there is none, so that a writer that goes on has less time to be faster. It takes three round
// trips, or two if there is no state, unless the log has many objects since the newest state, or
// large ones.
func (l *Log) readAll(ctx context.Context, more bool) (*object.State, readIDs, error) {
	s, listed, err := l.newestAndAfter(ctx, nil)
	if err != nil {
		return nil, readIDs{}, err
	}
	s = cmp.Or(s, Start(l.Database))
	read, ahead := newReadIDs(s), l.batching(listed)
	end := lastOf(listed)
	for more || s.Number < end {
		next, err := ahead.advancePatiently(ctx, s)
		if errors.Is(err, objstore.ErrNotExist) {
			return s, read, nil
		}
		if errors.Is(err, errStray) {
			newest, listErr := l.newestNumber(ctx)
			switch {
			case listErr != nil:
				return nil, read, listErr
			case newest <= s.Number:
				next, err = Skip(s), nil
			}
		}
		if err != nil {
			return nil, read, err
		}
		s = next
		read.ids[s.Number] = s.ID
	}
	return s, read, nil
}

// advancePatiently returns the state after the next object, with some tries.
func (l *Log) advancePatiently(ctx context.Context, s *object.State) (*object.State, error) {
	for tries := 1; ; tries++ {
		next, _, err := l.advance(ctx, s)
		if err == nil || lasting(err) || tries == fetchTries {
			return next, err
		}
		if paused := l.pause(ctx, tries, err); paused != nil {
			return nil, paused
		}
	}
}

// createClaim creates a claim at the end of the log, and returns the state after it.
func (l *Log) createClaim(
	ctx context.Context, s *object.State, claim object.Claim,
) (*object.State, error) {
	o := &object.Log{Header: l.header(s, s.Epoch+1), Claim: &claim}
	next, err := Next(s, o)
	if err != nil {
		return nil, err
	}
	p, err := l.Codec.EncodeLog(o)
	if err != nil {
		return nil, err
	}
	a, err := l.create(ctx, o, p)
	if err != nil {
		return nil, err
	}
	if !a.stored {
		return nil, errTaken
	}
	return next, nil
}

// header returns the header of the object after a state.
func (l *Log) header(s *object.State, epoch uint64) object.Header {
	return object.Header{
		Database: l.Database, Number: s.Number + 1, Epoch: epoch, ID: l.NewID(), Previous: s.ID,
		Time: max(l.Now(), s.Time),
	}
}

// lookBack asks the newest state whether the claim at the end of s counts, given the ids of the
// objects that were read before it. If that is the state with which they begin, it was never
// replaced, since only a newer one lets a state be deleted: then it is not read again.
func (l *Log) lookBack(ctx context.Context, s *object.State, ids readIDs) (bool, error) {
	number, err := l.newestNumber(ctx)
	if err != nil || number == ids.base {
		return err == nil, err
	}
	newest, err := l.Newest(ctx)
	return err == nil && ids.confirm(s, newest), err
}

// confirm reports whether the newest state lets the claim at the end of s count.
func (r *readIDs) confirm(s, newest *object.State) bool {
	if newest.Number >= s.Number {
		return hasClaim(newest, s.Number, s.ID)
	}
	return r.ids[newest.Number] == newest.ID
}

// hasClaim reports whether a state knows a claim.
func hasClaim(s *object.State, n uint64, id object.ID) bool {
	i, found := s.ClaimIndex(n)
	return found && s.Claims[i].ID == id
}
