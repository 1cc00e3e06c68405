package engine

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
)

// retryDamaged is when a compaction that met damage is tried again: it is likely to meet it again.
const retryDamaged = 5 * time.Minute

// damaged says which files compactions have met damage in, by number, and from when on they may be
// read again, in milliseconds since 1970. Immutable.
type damaged map[uint64]uint64

// has reports whether the file is one of them.
func (d damaged) has(number uint64) bool {
	_, found := d[number]
	return found
}

// resting returns those that may not be read yet.
func (d damaged) resting(now uint64) damaged {
	rest := maps.Clone(d)
	maps.DeleteFunc(rest, func(_, due uint64) bool { return due <= now })
	return rest
}

// avoids reports whether p is to leave a plan alone for now, because it reads what is damaged.
func (p picker) avoids(next plan, v *manifest.Version) bool {
	if len(p.damaged) == 0 || next.clear {
		return false
	}
	if next.deferred > 0 {
		again, ok := p.deferred(v)
		return !ok || again.deferred != next.deferred
	}
	if slices.ContainsFunc(next.bottom, p.damaged.has) ||
		slices.ContainsFunc(next.relocate, p.damaged.has) {
		return true
	}
	runs, _, err := next.young.Of(v)
	return err != nil || slices.ContainsFunc(runs, p.avoidsRun)
}

// avoidsRun reports whether p is to leave a young run alone.
func (p picker) avoidsRun(r manifest.Run) bool {
	return slices.ContainsFunc(r.Tables, p.avoidsTable)
}

// segment is neighbouring young runs, newest first.
type segment struct {
	runs  []manifest.Run
	older int // how many young runs are older
}

// segments returns what is left of the young runs between those that p is to leave alone.
func (p picker) segments(v *manifest.Version) (all []segment) {
	n := len(v.Young)
	for start, end := 0, 0; start < n; start = end + 1 {
		for end = start; end < n && !p.avoidsRun(v.Young[end]); end++ {
		}
		if end > start {
			all = append(all, segment{v.Young[start:end], n - end})
		}
	}
	return all
}

func (p picker) avoidsTable(t *manifest.Table) bool { return p.damaged.has(t.Number) }

// setAside notes the file in which a compaction has met damage, and reports whether that keeps the
// same compaction from being picked at once.
func (e *Engine) setAside(err error, failed plan) bool {
	var damage *corrupt.Error
	if !errors.As(err, &damage) {
		return false
	}
	digits, _, _ := strings.Cut(filepath.Base(damage.File), ".")
	number, ok := vfs.ParseNumber(digits)
	if !ok {
		return false
	}
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	next := e.damagedFiles().resting(now) // what is due and comes up again is noted again
	if next == nil {
		next = make(damaged)
	}
	next[number] = now + uint64(retryDamaged.Milliseconds())
	e.damaged.Store(&next)
	version := e.state.Load().Levels.Version
	if _, ok := version.ValueFile(number); ok && !slices.Contains(failed.relocate, number) {
		return true // what was deferred in it is left alone from now on
	}
	return e.picker(e.options.Tuning.YoungRuns, true).avoids(failed, version)
}

// damagedFiles returns the files that are set aside.
func (e *Engine) damagedFiles() damaged {
	if d := e.damaged.Load(); d != nil {
		return *d
	}
	return nil
}
