package salvage

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
)

// output is the new database.
type output struct {
	job    Job
	made   bool   // the folder was made here
	number uint64 // the last file number that was used
	data   *part
	head   *part // the catalog
}

// part writes some of the bottom run.
type part struct {
	writer *run.Writer
	done   run.Output
}

func newOutput(j Job, made bool) *output {
	o := &output{job: j, made: made}
	o.data, o.head = o.newPart(), o.newPart()
	return o
}

func (o *output) newPart() *part {
	j := o.job
	return &part{writer: run.NewWriter(run.Config{
		FS: j.FS, Dir: j.Dest, Database: j.Database, NextNumber: o.next,
		TableBytes: j.Sizes.TableBytes, BlockBytes: j.Sizes.BlockBytes, SampleBytes: j.Sizes.Sample,
		Compress: true, Patterns: true,
		Values: run.Values{
			Separate: j.Sizes.Separate, Shrink: true, FileBytes: j.Sizes.FileBytes,
		},
	})}
}

func (o *output) next() uint64 {
	o.number++
	return o.number
}

func (p *part) add(key []byte, e keyspace.Entry) error {
	return p.writer.Add(key, e)
}

func (p *part) finish() (err error) {
	p.done, err = p.writer.Finish()
	return err
}

// catalog writes the catalog.
func (o *output) catalog(pairs []pair) error {
	for _, p := range pairs {
		if err := o.head.add(p.key, p.entry); err != nil {
			return err
		}
	}
	return nil
}

// finish completes all files and writes the manifest.
func (o *output) finish(lastCommit uint64) error {
	if err := errors.Join(o.data.finish(), o.head.finish()); err != nil {
		return err
	}
	if err := o.job.FS.SyncDir(o.job.Dest); err != nil {
		return err
	}
	number := o.next()
	journal, err := manifest.Create(o.job.FS, o.job.Dest, number, o.job.Database, &manifest.Version{
		Bottom: manifest.Run{
			Tables: slices.Concat(o.head.done.Tables, o.data.done.Tables),
		},
		ValueFiles:   slices.Concat(o.head.done.Values, o.data.done.Values),
		Dictionaries: slices.Concat(o.head.done.Dictionaries, o.data.done.Dictionaries),
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
	errs := []error{o.data.writer.Abort(), o.head.writer.Abort()}
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
