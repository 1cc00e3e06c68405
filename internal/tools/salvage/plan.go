package salvage

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
)

// plan is what is known of the source before any of its data is read.
type plan struct {
	*original
	recorder     *recorder
	database     [16]byte
	version      *manifest.Version // nil if the age of files has to be guessed
	hints        *manifest.Version // what is known of dictionaries, drops and logs; nil if nothing is
	torn         bool              // there once were edits behind the version, or the start of one
	surplus      []surplus         // whole tables that are newer than the version; ascending
	lastCommit   uint64            // in tables, and later in logs; 0 if not known
	first        uint64            // commit in the logs that is not in tables; 0 if there is none
	decompressor block.Decompressor
}

// surplus is a table that the version does not know.
type surplus struct {
	number uint64
	young  bool // it has a filter, as those have that are not of the bottom run
}

// makePlan finds the version of the database.
func makePlan(from *original, r *recorder) (*plan, error) {
	p := &plan{original: from, recorder: r}
	whole, err := p.identify()
	if err != nil {
		return nil, err
	}
	state, name := p.newest()
	for _, name := range slices.Sorted(maps.Keys(p.holes)) {
		for _, h := range p.holes[name] {
			r.unread(name, h.End-h.At, h)
		}
	}
	if state == nil {
		r.older(p.dir, "no manifest can be used: the age of files was guessed by their numbers")
		return p, nil
	}
	if !whole && state.Number < p.found.Newest(folder.Manifest) {
		state.Torn = true // this one was replaced, as a rule, by that which is damaged
	}
	p.hints = state.Version
	if !p.isEnd(state, name) {
		return p, nil
	}
	r.made.Manifest, p.torn = name, state.Torn
	p.version, p.lastCommit = state.Version, state.Version.LastCommit
	return p, nil
}

// identify finds out which database this is, and notes what is wrong with its manifest and the copy
// of that. It reports whether the manifest is whole.
func (p *plan) identify() (whole bool, err error) {
	state, err := manifest.LoadAmong(p.original, p.dir, p.found.Of(folder.Manifest))
	if err != nil {
		p.recorder.damage("MANIFEST", err)
	}
	other, copyErr := manifest.LoadCopy(p.original, p.dir)
	if copyErr != nil && !errors.Is(copyErr, fs.ErrNotExist) {
		p.recorder.damage("MANIFEST copy", copyErr)
	}
	switch {
	case err == nil:
		p.database = state.Database
		return true, nil
	case copyErr == nil:
		p.database = other.Database
		return false, nil
	}
	p.database, err = p.identity()
	return false, err
}

// newest returns what the manifest or the copy says that says most, as far as it is valid; nil if
// none says anything.
func (p *plan) newest() (best *manifest.State, name string) {
	numbers := slices.Concat(p.found.Of(folder.Manifest), p.found.Of(folder.ManifestCopy))
	slices.Sort(numbers)
	for _, number := range slices.Backward(slices.Compact(numbers)) {
		for _, kind := range []folder.Kind{folder.Manifest, folder.ManifestCopy} {
			if !p.has(kind, number) {
				continue
			}
			file := kind.Name(number)
			state, err := manifest.LoadBeginning(p.original, p.dir, file, number, p.database)
			if err == nil && (best == nil || state.End > best.End ||
				state.End == best.End && best.Torn && !state.Torn) {
				best, name = state, file
			}
		}
		if best != nil {
			break // manifests with lower numbers are older
		}
	}
	return best, name
}

// isEnd reports whether state, which the file of that name says, is how the database was at its
// end, or shortly before. It is not if files that it names are gone and the edit is lost that says
// so: then nothing is known of the age of what is there. With a claim, files may be gone because
// they are only in a store, so that says nothing.
func (p *plan) isEnd(state *manifest.State, name string) bool {
	missing := ""
	if p.found.Claim == "" {
		missing = p.missing(state.Version)
	}
	p.surplus = p.newTables(state.Version)
	if missing != "" && (state.Torn || len(p.surplus) > 0) {
		p.recorder.older(name, fmt.Sprintf("it names %s, which is missing, and lacks its end: "+
			"the age of files was guessed by their numbers", missing))
		return false
	}
	if state.Torn {
		p.recorder.older(name, "its end is damaged, or was never completely written")
	}
	return true
}

// missing returns the name of a file that a version names and that is not there, or "".
func (p *plan) missing(v *manifest.Version) string {
	for t := range v.Tables() {
		if !p.has(folder.Table, t.Number) {
			return folder.Table.Name(t.Number)
		}
	}
	for _, f := range v.ValueFiles {
		if _, ok := p.valueFile(f.Number); !ok {
			return f.Name()
		}
	}
	return ""
}

// newTables returns the tables that are newer than a version. What a crash has cut off while it was
// written is none, nor is a value file without a table.
func (p *plan) newTables(v *manifest.Version) (all []surplus) {
	from, _ := slices.BinarySearch(p.found.Of(folder.Table), v.NextNumber)
	for _, number := range p.found.Of(folder.Table)[from:] {
		if file, layout, _ := p.table(&manifest.Table{Number: number}); file != nil {
			_ = file.Close() // it was only read
			all = append(all, surplus{number, layout.Filter < layout.Index})
		}
	}
	return all
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
