package flush

import (
	"errors"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
)

// RunSorted is Run with pairs in place of a memtable. There must be one, and all must be data.
func (j Job) RunSorted(pairs *sorter.Sorter) (*manifest.Edit, error) {
	pairs.Sort()
	first, last := pairs.Span()
	bottom := j.Levels.Outside(first, last)
	alone := bottom || j.apart(first, last)
	config := j.Config(alone, nil)
	config.Compress = j.decide(tallyOfPairs(pairs, &config.Values), alone).compress
	config.Spread = spreadOf(pairs, &config)
	if alone {
		config.TableBytes = evenly(config.TableBytes, pairs.Bytes())
	}
	w := run.NewWriter(config)
	for key, value := range pairs.All() {
		if _, err := w.Add(key, keyspace.Entry{Kind: keyspace.KindPut, Value: value}); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	output, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit := &manifest.Edit{AddValues: output.Values, AddDictionaries: output.Dictionaries}
	if bottom {
		edit.AddBottom = output.Tables
	} else {
		edit.AddYoung = []manifest.Run{{Tables: output.Tables}}
	}
	return edit, nil
}

// tallyOfPairs returns the tally of sorted pairs.
func tallyOfPairs(pairs *sorter.Sorter, v *run.Values) tally {
	return tallyOf(func(yield func([]byte) bool) {
		for _, value := range pairs.All() {
			if !yield(value) {
				return
			}
		}
	}, v)
}
