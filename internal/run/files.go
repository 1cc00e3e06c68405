package run

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// files is the files of one kind that a run creates, one at a time.
type files struct {
	config  *Config
	kind    folder.Kind
	number  uint64   // of the last file
	file    vfs.File // the open file; nil between files
	created []uint64 // the numbers of all files
}

func (f *files) create() error {
	f.number = f.config.NextNumber()
	file, err := f.config.FS.Create(filepath.Join(f.config.Dir, f.kind.Name(f.number)))
	if err != nil {
		return fmt.Errorf("create %s %06d: %w", f.kind, f.number, err)
	}
	f.file, f.created = file, append(f.created, f.number)
	return nil
}

// complete closes the open file, which is written and synced.
func (f *files) complete() error {
	if err := errors.Join(f.file.Named(), f.close()); err != nil {
		return fmt.Errorf("close %s %06d: %w", f.kind, f.number, err)
	}
	return nil
}

// failed wraps an error, if any, of writing the open file.
func (f *files) failed(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s %06d: %w", f.kind, f.number, err)
}

func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	file := f.file
	f.file = nil
	return file.Close()
}

func (f *files) abort() error { return f.abandon(func(uint64) bool { return false }) }

// abandon closes the open file and removes all files but those to keep, by number.
func (f *files) abandon(keep func(number uint64) bool) error {
	errs := []error{f.close()}
	for _, number := range f.created {
		if !keep(number) {
			errs = append(errs, f.config.FS.Remove(filepath.Join(f.config.Dir, f.kind.Name(number))))
		}
	}
	f.created = slices.DeleteFunc(f.created, func(n uint64) bool { return !keep(n) })
	return errors.Join(errs...)
}
