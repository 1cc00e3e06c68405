package salvage

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// output is the new database.
type output struct {
	job    Job
	made   bool   // the folder was made here
	number uint64 // the last file number that was used
	data   *run.Writer
	head   *run.Writer // of the catalog
}

// newOutput returns the output of a job, in two parts of the bottom run.
func newOutput(j Job, made bool) *output {
	o := &output{job: j, made: made}
	config := run.Config{
		FS: j.FS, Dir: j.Dest, Database: j.Database, NextNumber: o.next,
		TableBytes: j.Sizes.TableBytes, BlockBytes: j.Sizes.BlockBytes, SampleBytes: j.Sizes.Sample,
		Compress: true, Patterns: true,
		Values: run.Values{
			Separate: j.Sizes.Separate, Shrink: true, FileBytes: j.Sizes.FileBytes,
		},
	}
	o.data, o.head = run.NewWriter(config), run.NewWriter(config)
	return o
}

func (o *output) next() uint64 {
	o.number++
	return o.number
}

func (o *output) finish(lastCommit uint64) error {
	data, dataErr := o.data.Finish()
	head, headErr := o.head.Finish()
	if err := errors.Join(dataErr, headErr); err != nil {
		return err
	}
	if err := o.job.FS.SyncDir(o.job.Dest); err != nil {
		return err
	}
	number := o.next()
	journal, err := manifest.Create(o.job.FS, o.job.Dest, number, o.job.Database, &manifest.Version{
		Bottom:       manifest.Run{Tables: slices.Concat(head.Tables, data.Tables)},
		ValueFiles:   slices.Concat(head.Values, data.Values),
		Dictionaries: slices.Concat(head.Dictionaries, data.Dictionaries),
		LastCommit:   lastCommit,
		NextNumber:   number + 1,
		Branch:       o.job.Branch,
	})
	if err != nil {
		return err
	}
	return journal.Close()
}

// remove removes everything, as far as that is possible.
func (o *output) remove() error {
	errs := []error{o.data.Abort(), o.head.Abort()}
	found, err := folder.List(o.job.FS, o.job.Dest)
	errs = append(errs, err)
	for kind, number := range found.All() {
		if kind == folder.Manifest || kind == folder.ManifestCopy {
			errs = append(errs, o.job.FS.Remove(filepath.Join(o.job.Dest, kind.Name(number))))
		}
	}
	if o.made {
		_ = o.job.FS.Remove(o.job.Dest) // not all file systems can remove a folder
	}
	return errors.Join(errs...)
}
