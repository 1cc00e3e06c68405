package history

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/object"
)

// Start returns the state of an empty log.
func Start(database [16]byte) *object.State {
	return &object.State{
		Header: object.Header{Database: database}, Version: &manifest.Version{NextNumber: 1},
	}
}

// Verdict is what a reader of the log makes of the next object.
type Verdict int

// Verdicts.
const (
	Counts Verdict = iota
	Void           // it was sent before a claim, and is skipped
	Breaks         // it does not continue this history
	Strays         // nor does it, and it is void if nothing newer is stored; a barrier is one of these
)

// Judge returns the verdict on the log object that has the next number after a state.
func Judge(s *object.State, l *object.Log) Verdict {
	switch {
	case l.Barrier: // whatever its epoch: its maker may have read a claim that does not count
		return Strays
	case l.Epoch < s.Epoch && l.Number <= zone(s):
		return Void
	case l.Previous != lastID(s) && l.Claim == nil && l.Epoch == s.Epoch && mayStray(s):
		return Strays
	case l.Previous != lastID(s):
		return Breaks
	case l.Claim != nil && l.Epoch > s.Epoch, l.Claim == nil && l.Epoch == s.Epoch:
		return Counts
	}
	return Breaks
}

// mayStray reports whether the object after a state may be of a copy of its writer's process, which
// has sent several at a time, the first of them in vain. It has acknowledged no more than what
// counts, so there are no more of them after that than the window has.
func mayStray(s *object.State) bool {
	most := s.Claims[len(s.Claims)-1].Window
	return most > 1 && skipped(s) < most
}

// skipped returns how many void objects a state is after, since the last one that counts.
func skipped(s *object.State) (n uint64) {
	for i := len(s.Void); i > 0 && s.Void[i-1] == s.Number-n; i-- {
		n++
	}
	return n
}

// lastID returns the id of the last object that counts, which the state has, too.
func lastID(s *object.State) object.ID { return s.ID }

// zone returns the number up to which objects of older epochs may be void: the last one that a
// request could take which was sent before the newest claim.
func zone(s *object.State) uint64 {
	if len(s.Claims) == 0 {
		return 0
	}
	earlier, last := s.Claims[:len(s.Claims)-1], s.Claims[len(s.Claims)-1]
	return last.Number + max(window(earlier), 1) - 1
}

// window returns the most requests that a writer of the claims had in flight.
func window(claims []object.ClaimAt) (most uint64) {
	for _, c := range claims {
		most = max(most, c.Window)
	}
	return most
}

// Skip returns the state after a void object.
func Skip(s *object.State) *object.State {
	next := *s
	next.Number++
	next.Void = append(slices.Clip(s.Void), next.Number)
	return &next
}

// Next returns the state after an object that counts. It is an error if the object does not fit.
func Next(s *object.State, l *object.Log) (*object.State, error) {
	next := *s
	next.Number, next.Epoch, next.ID, next.Time = l.Number, l.Epoch, l.ID, l.Time
	if l.Time < s.Time {
		return nil, fmt.Errorf("log object %d goes back in time", l.Number)
	}
	if c := l.Claim; c != nil {
		next.Claims = append(slices.Clip(s.Claims), object.ClaimAt{
			Number: l.Number, Epoch: l.Epoch, Window: c.Window, ID: l.ID,
		})
		if s.Version.Branch != 0 {
			next.Ends = append(slices.Clip(s.Ends), object.Branch{
				Branch: s.Version.Branch, End: s.Commit,
			})
		}
		version := *s.Version
		version.Branch = c.Branch
		next.Version = &version
	}
	for i := range l.Parts {
		if err := applyPart(&next, &l.Parts[i]); err != nil {
			return nil, fmt.Errorf("log object %d: %w", l.Number, err)
		}
	}
	settlePending(&next, s.Commit)
	return &next, nil
}

// applyPart applies one part of an object to the state, which is not shared yet; its slices are.
func applyPart(s *object.State, p *object.Part) error {
	switch {
	case p.Commits != nil:
		if p.Commits.First != s.Commit+1 {
			return fmt.Errorf("commit %d follows commit %d", p.Commits.First, s.Commit)
		}
		s.Commit = p.Commits.Last()
	case p.Origin != nil:
		s.Origin = p.Origin
		if *p.Origin == (object.Origin{}) {
			s.Origin = nil
		}
	case p.Edit != nil:
		version, err := s.Version.Apply(p.Edit)
		if err != nil {
			return err
		}
		s.Retired = append(slices.Clip(s.Retired), retired(s.Number, s.Version, version)...)
		s.Version = version
		s.Commit = max(s.Commit, version.LastCommit)
	default:
		if p.Bound < s.Bound {
			return fmt.Errorf("the unlink bound goes back from %d to %d", s.Bound, p.Bound)
		}
		s.Bound = p.Bound
		kept := slices.IndexFunc(s.Retired, func(r object.Retired) bool { return r.At > p.Bound })
		if kept < 0 {
			kept = len(s.Retired)
		}
		s.Retired = s.Retired[kept:]
	}
	return nil
}

// settlePending brings the pending objects up to date, after commits above the one given.
func settlePending(s *object.State, before uint64) {
	pending := slices.Clone(s.Pending)
	if s.Commit > before {
		pending = append(pending, object.Pending{Number: s.Number, Last: s.Commit})
	}
	s.Pending = slices.DeleteFunc(pending, func(p object.Pending) bool {
		return p.Last <= s.Version.LastCommit
	})
}

// retired returns the files that a version has and the next one lacks.
func retired(at uint64, before, after *manifest.Version) (files []object.Retired) {
	kept := after.TableNumbers()
	for t := range before.Tables() {
		if !kept[t.Number] {
			files = append(files, object.Retired{At: at, Kind: object.TableFile, File: t.Number})
		}
	}
	for _, f := range before.ValueFiles {
		if _, ok := after.ValueFile(f.Number); !ok {
			kind := object.ValuesFile
			if f.Log {
				kind = object.LogFile
			}
			files = append(files, object.Retired{At: at, Kind: kind, File: f.Number})
		}
	}
	return files
}
