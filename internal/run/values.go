package run

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Values says what becomes of large values. The zero value leaves all where they are.
type Values struct {
	// Separate is the size from which values go to value files; 0: none do. If Shrink is true,
	// those that shrink stay in tables, where they are compressed, at the latest in the bottom run.
	Separate  int
	Shrink    bool
	FileBytes int64 // a value file is closed when it has this many bytes

	// Relocate reports whether the values in a file are to be written anew, and Recheck whether
	// those of them are that shrink. Nil functions leave all pointers as they are. Read returns the
	// value of the entry that is being added.
	Relocate func(file uint64) bool
	Recheck  func(file uint64) bool
	Read     func() ([]byte, error)
}

// Shrinks reports whether a value is likely to be much smaller in a compressed block, so that it
// belongs into one, however large it is: compactions copy such blocks as they are.
func Shrinks(value []byte) bool { return !block.LooksRandom(value) }

// Outside reports whether a value belongs into a value file, not into a table.
func (c *Config) Outside(value []byte) bool {
	v := &c.Values
	return v.Separate > 0 && len(value) >= v.Separate && !(v.Shrink && Shrinks(value))
}

// valueWriter writes the value files of a run.
type valueWriter struct {
	config  Config
	files   []manifest.ValueFile
	number  uint64 // of the open file
	file    vfs.File
	writer  *valuelog.Writer // nil between files
	pointer [valuelog.PointerBytes]byte
}

// place puts the entry's value where it belongs and returns the entry for the table, whose value is
// valid until the next call.
func (v *valueWriter) place(e keyspace.Entry) (keyspace.Entry, error) {
	c := &v.config.Values
	if e.Kind == keyspace.KindPointer {
		var err error
		if e, err = v.fetch(e); err != nil {
			return e, err
		}
	}
	if e.Kind != keyspace.KindPut || e.Dictionary != 0 || !v.config.Outside(e.Value) {
		return e, nil
	}
	if v.writer == nil {
		if err := v.open(); err != nil {
			return e, err
		}
	}
	p, err := v.writer.Append(e.Value)
	if err != nil {
		return e, fmt.Errorf("write value file %06d: %w", v.number, err)
	}
	e.Kind, e.Value = keyspace.KindPointer, p.Append(v.pointer[:0])
	if v.writer.Size() < c.FileBytes {
		return e, nil
	}
	return e, v.finish()
}

// fetch returns the entry of a pointer with its value, if that is to be written anew.
func (v *valueWriter) fetch(e keyspace.Entry) (keyspace.Entry, error) {
	c := &v.config.Values
	if c.Relocate == nil && c.Recheck == nil {
		return e, nil
	}
	p, err := valuelog.ParsePointer(e.Value)
	if err != nil {
		return e, err
	}
	relocate := c.Relocate != nil && c.Relocate(p.File)
	if !relocate && (c.Recheck == nil || !c.Recheck(p.File)) {
		return e, nil
	}
	value, err := c.Read()
	if err != nil || !relocate && !Shrinks(value) {
		return e, err
	}
	e.Kind, e.Value = keyspace.KindPut, value
	return e, nil
}

func (v *valueWriter) open() error {
	c := v.config
	v.number = c.NextNumber()
	file, err := c.FS.Create(filepath.Join(c.Dir, valuelog.Name(v.number)))
	if err != nil {
		return fmt.Errorf("create value file %06d: %w", v.number, err)
	}
	v.file, v.writer = file, valuelog.NewWriter(file, v.number, c.Database)
	return nil
}

// finish completes the open file, if there is one.
func (v *valueWriter) finish() error {
	if v.writer == nil {
		return nil
	}
	size, err := v.writer.Finish()
	if err != nil {
		return fmt.Errorf("write value file %06d: %w", v.number, err)
	}
	v.writer = nil
	v.files = append(v.files, manifest.ValueFile{Number: v.number, Size: size})
	if err := errors.Join(v.file.Named(), v.file.Close()); err != nil {
		return fmt.Errorf("close value file %06d: %w", v.number, err)
	}
	return nil
}

// close closes the open file.
func (v *valueWriter) close() error {
	if v.writer == nil {
		return nil
	}
	v.writer = nil
	return v.file.Close()
}

// abort removes all files.
func (v *valueWriter) abort() error {
	var errs []error
	remove := func(number uint64) error {
		return v.config.FS.Remove(filepath.Join(v.config.Dir, valuelog.Name(number)))
	}
	if v.writer != nil {
		v.writer = nil
		errs = append(errs, v.file.Close(), remove(v.number))
	}
	for _, f := range v.files {
		errs = append(errs, remove(f.Number))
	}
	v.files = nil
	return errors.Join(errs...)
}
