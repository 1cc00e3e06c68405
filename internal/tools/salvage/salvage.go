// Package salvage rebuilds a damaged database from what can be read and reports what is lost.
//
// A [Job] finds out which files make up the database: from the manifest, its copy, the beginning
// of a damaged manifest or, as a last resort, the files in the folder. Each log, each run and,
// without a manifest, each table is a layer; newer layers hide older ones. The layers are merged,
// newest first, into one bottom run of a new database with a consistent catalog of buckets.
//
// A salvage fails only if there is nothing to read, if a file must not be read, or if the new
// database cannot be written. What does not verify is left out and noted in the [Report]: the keys
// of a block, one value, the transactions of a log. No value is ever invented: what is written has
// been verified, and was the value of its key at some time. Only if the manifest cannot be used or
// seems to lack its end may it come from a transaction that a crash interrupted.
//
// The logs, the catalog of buckets and one block of each layer are held in memory. A Job is for one
// goroutine. The package starts none, follows no symbolic links, and writes nothing to the source.
package salvage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/vfs"
)

// askEvery is how many entries are read until the job looks whether it is to go on.
const askEvery = 4096

// Job is a damaged database on its way to a new one.
type Job struct {
	FS       vfs.FS
	Source   string
	Dest     string   // missing or empty
	Database [16]byte // the identity of the new database
	Branch   uint64   // its first branch, and the number of the salvage if something is lost
	Sizes    Sizes

	// Verify checks the finished database. If it fails, so does the job. It may be nil.
	Verify func() error
}

// Sizes holds the sizes of the new database's parts. A zero field is the default.
type Sizes struct {
	TableBytes int64 // a table is closed at this size
	BlockBytes int   // as in table.WriterOptions
	Sample     int   // bytes of a bucket's values that decide on their encoding
	Separate   int   // values of this size go to value files
	FileBytes  int64 // a value file is closed at this size
}

const (
	defaultTableBytes = 32 << 20
	defaultSeparate   = 4 << 10
	defaultFileBytes  = 64 << 20
)

func (s *Sizes) setDefaults() {
	s.TableBytes = cmp.Or(s.TableBytes, defaultTableBytes)
	s.Separate = cmp.Or(s.Separate, defaultSeparate)
	s.FileBytes = cmp.Or(s.FileBytes, defaultFileBytes)
}

// Run makes the new database. After an error, or if ctx ends, it removes all of it.
func (j Job) Run(ctx context.Context) (*Report, error) {
	j.Sizes.setDefaults()
	if inside(j.Source, j.Dest) {
		return nil, fmt.Errorf("%s lies within %s, where nothing is to be written; "+
			"choose another directory", j.Dest, j.Source)
	}
	from, err := openOriginal(j.FS, j.Source)
	if err != nil {
		return nil, err
	}
	out, err := j.prepare()
	if err != nil {
		return nil, errors.Join(err, from.close())
	}
	r := &recorder{made: Report{Source: j.Source, Dest: j.Dest}}
	err = cmp.Or(j.fill(ctx, from, out, r), from.denied)
	if err = errors.Join(err, from.close()); err == nil {
		err = j.verify()
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(err, out.remove())
	}
	return r.report(), nil
}

// verify checks the new database. Damage in it must not match corrupt.Err: that would blame the
// source.
func (j Job) verify() error {
	if j.Verify == nil {
		return nil
	}
	err := j.Verify()
	if errors.Is(err, corrupt.Err) {
		return fmt.Errorf("the new database at %s does not read back as it was written: "+
			"its disk may be failing, choose another (%v)", j.Dest, err)
	}
	return err
}

func (j Job) fill(ctx context.Context, from *original, out *output, r *recorder) error {
	for _, i := range from.ignored {
		if isJournal(i.name) {
			r.older(i.name, i.reason)
		} else {
			r.problem(i.name, 0, i.reason)
		}
	}
	p, err := makePlan(from, r)
	if err = cmp.Or(from.denied, err); err != nil {
		return err
	}
	layers, err := p.layers(ctx)
	if err != nil {
		return err
	}
	r.catalog = newCatalog(p.hints)
	v := values{original: from, dictionaries: p.dictionaries()}
	defer v.close()
	b := builder{ctx: ctx, out: out, catalog: r.catalog, values: &v, recorder: r}
	if err := b.build(newMerger(layers)); err != nil {
		return err
	}
	return out.finish(p.lastCommit)
}

// prepare makes the folder of the new database, which must not hold anything.
func (j Job) prepare() (*output, error) {
	names, err := j.FS.List(j.Dest)
	made := errors.Is(err, fs.ErrNotExist)
	switch {
	case made:
		err = j.FS.MkdirAll(j.Dest)
	case err == nil && len(names) > 0:
		err = fmt.Errorf("%s holds %q: choose an empty directory, or one that does not exist: %w",
			j.Dest, names[0], fs.ErrExist)
	}
	if err != nil {
		return nil, err
	}
	return newOutput(j, made), nil
}

// inside reports whether path is dir or lies within it, symbolic links followed.
func inside(dir, path string) bool {
	dir, err := resolved(dir)
	if err != nil {
		return false
	}
	if path, err = resolved(path); err != nil {
		return false
	}
	rest, err := filepath.Rel(dir, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// resolved returns an absolute path without symbolic links in what exists of it.
func resolved(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	for existing := path; ; existing = filepath.Dir(existing) {
		found, err := filepath.EvalSymlinks(existing)
		if err == nil {
			return filepath.Join(found, path[len(existing):]), nil
		}
		if existing == filepath.Dir(existing) {
			return path, nil
		}
	}
}
