package flush

import (
	"errors"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/sorter"
)

// DoSorted is Do for pairs in place of a memtable. There must be at least one, and all must be
// data.
func (j Job) DoSorted(pairs *sorter.Sorter) (*manifest.Edit, error) {
	pairs.Sort()
	to := j.destination(pairs.Span())
	config := j.Config(to.stays(), nil)
	config.Compress = j.plan(sizesOf(pairs.All(), &config.Values), to.stays()).compress
	config.Sampler = samplerOf(&config, pairs.From)
	if to.stays() {
		config.TableBytes = evenly(config.TableBytes, pairs.Bytes())
	}
	w := run.NewWriter(config)
	asker := run.Asker{Cancelled: j.Cancelled}
	for key, value := range pairs.All() {
		if asker.ReadEntry(len(value)); asker.Stops() {
			return nil, errors.Join(ErrCancelled, w.Abort())
		}
		if err := w.Add(key, keyspace.Entry{Kind: keyspace.KindPut, Value: value}); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	output, err := w.Finish()
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	edit := &manifest.Edit{AddValues: output.Values, AddDictionaries: output.Dictionaries}
	if to == beyondAll {
		edit.AddBottom = output.Tables
	} else {
		edit.AddYoung = []manifest.Run{{Tables: output.Tables}}
	}
	return edit, nil
}
