package run

import (
	"errors"
	"slices"

	"github.com/stoatdb/stoat/internal/manifest"
)

// Stop gives up what is incomplete and returns the rest: the complete tables, up to the first that
// points into an incomplete value file, and the value files that they need. All entries up to the
// last key of these tables are in them. It waits for no sync.
func (w *Writer) Stop() (Output, error) {
	tables := w.tables.finished
	if w.values.writer != nil {
		n := slices.IndexFunc(tables, func(t *manifest.Table) bool {
			return pointsInto(t, w.values.number)
		})
		if n >= 0 {
			tables = tables[:n]
		}
	}
	values := slices.DeleteFunc(slices.Clone(w.values.finished), func(f manifest.ValueFile) bool {
		return !slices.ContainsFunc(tables, func(t *manifest.Table) bool {
			return pointsInto(t, f.Number)
		})
	})
	err := errors.Join(
		w.tables.abandon(func(number uint64) bool {
			return slices.ContainsFunc(tables, func(t *manifest.Table) bool { return t.Number == number })
		}),
		w.values.abandon(func(number uint64) bool {
			return slices.ContainsFunc(values, func(f manifest.ValueFile) bool {
				return f.Number == number
			})
		}))
	if err != nil {
		return Output{}, err
	}
	described, err := w.chooser.dictionaries.describe(tables)
	return Output{tables, values, described}, err
}

// pointsInto reports whether a table points into a value file.
func pointsInto(t *manifest.Table, file uint64) bool {
	return slices.ContainsFunc(t.Values, func(s manifest.ValueShare) bool { return s.File == file })
}
