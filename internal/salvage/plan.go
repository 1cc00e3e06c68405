package salvage

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// plan is what is known of the source before any of its data is read.
type plan struct {
	*folder
	recorder     *recorder
	database     [16]byte
	version      *manifest.Version // nil without any manifest
	hints        *manifest.Version // what is known of dictionaries and drops; nil if nothing is
	lastCommit   uint64            // in tables, and later in logs; 0 if not known
	decompressor block.Decompressor
}

// makePlan finds the version of the database.
func makePlan(from *folder, r *recorder) (*plan, error) {
	p := &plan{folder: from, recorder: r}
	state, name := p.complete()
	if state == nil {
		id, err := from.identity()
		if err != nil {
			return nil, err
		}
		p.database = id
		if state, name = p.beginning(); state != nil {
			state.Torn = true // or something at its end is missing
		}
	}
	r.made.Manifest = name
	if state == nil {
		r.older(from.dir, "no manifest can be used: the age of files was guessed by their numbers")
		return p, nil
	}
	if state.Torn {
		r.older(name, "its end is damaged, or was never completely written")
	}
	p.database, p.version, p.lastCommit = state.Database, state.Version, state.Version.LastCommit
	p.hints = p.version
	return p, nil
}

// complete returns what the newest complete manifest says, or its copy if that says more.
func (p *plan) complete() (state *manifest.State, name string) {
	state, err := manifest.LoadAmong(p.folder, p.dir, p.manifests)
	if err == nil {
		name = manifest.Name(state.Number)
	} else {
		state = nil
		p.recorder.damage("MANIFEST", err)
	}
	other, err := manifest.LoadCopy(p.folder, p.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.recorder.damage("MANIFEST copy", err)
	}
	if err == nil && (state == nil || newer(other, state)) {
		state, name = other, manifest.CopyName(other.Number)
	}
	return state, name
}

// newer reports whether a says more than b.
func newer(a, b *manifest.State) bool {
	if a.Number != b.Number {
		return a.Number > b.Number
	}
	return a.Version.NextNumber > b.Version.NextNumber ||
		a.Version.LastCommit > b.Version.LastCommit || b.Torn && !a.Torn
}

// beginning returns what the beginning of a damaged manifest says, or of its copy, if it fits the
// folder: all files that it names are there, and no table that it cannot know. What does not fit is
// good for hints all the same, as the numbers of dictionaries and buckets are never used twice.
func (p *plan) beginning() (*manifest.State, string) {
	numbers := slices.Concat(p.manifests, p.copies)
	slices.Sort(numbers)
	for _, number := range slices.Backward(slices.Compact(numbers)) {
		for _, name := range []string{manifest.Name(number), manifest.CopyName(number)} {
			if !p.has(name) {
				continue
			}
			state, err := manifest.LoadBeginning(p.folder, p.dir, name, number, p.database)
			if err != nil {
				continue
			}
			if p.fits(state.Version) {
				return state, name
			}
			if p.hints == nil {
				p.hints = state.Version
			}
		}
	}
	return nil, ""
}

func (p *plan) fits(v *manifest.Version) bool {
	for t := range v.Tables() {
		if !p.has(run.Name(t.Number)) {
			return false
		}
	}
	for _, f := range v.ValueFiles {
		if _, ok := p.hasValues(f.Number); !ok {
			return false
		}
	}
	n := len(p.tables)
	return n == 0 || p.tables[n-1] < v.NextNumber
}

// dictionaries returns the dictionaries that are known, by number.
func (p *plan) dictionaries() map[uint64]*block.Dictionary {
	all := make(map[uint64]*block.Dictionary)
	if p.hints != nil {
		for _, d := range p.hints.Dictionaries {
			all[d.Number] = block.NewDictionary(d.Number, d.Bucket, d.Fit, d.Data)
		}
	}
	return all
}

// offsetOf returns where the damage lies that an error reports.
func offsetOf(err error) int64 {
	var damage *corrupt.Error
	if errors.As(err, &damage) {
		return damage.Offset
	}
	return 0
}
