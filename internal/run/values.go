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

// Values says what becomes of large values. The zero value leaves them all where they are.
type Values struct {
	// Separate is the length from which values go to value files; 0 means that none do. If Shrink
	// is set, values that shrink stay in tables, where they are compressed, at the latest in the
	// bottom run.
	Separate  int
	Shrink    bool
	FileBytes int64 // a value file ends when it reaches this size

	// Relocate reports whether to rewrite all values in a file, and Recheck whether to rewrite
	// those that shrink. Nil functions leave all pointers as they are. Read returns the value of
	// the entry that is being added.
	Relocate func(file uint64) bool
	Recheck  func(file uint64) bool
	Read     func() ([]byte, error)
}

// Shrinks reports whether a value is likely to be much smaller when compressed. Then it belongs in
// a block, however large it is: compactions copy such blocks as they are.
func Shrinks(value []byte) bool { return !block.LooksRandom(value) }

// Outside reports whether a value belongs in a value file, not in a table.
func (c *Config) Outside(value []byte) bool {
	v := &c.Values
	return v.Separate > 0 && len(value) >= v.Separate && !(v.Shrink && Shrinks(value))
}

// valueWriter writes the value files of a run.
type valueWriter struct {
	config   *Config
	complete []manifest.ValueFile
	writer   *valuelog.Writer // of the open file; nil between files
	number   uint64
	file     vfs.File
	pointer  [valuelog.PointerBytes]byte
}

// separate returns the entry for the table. If its value belongs in a value file, it writes the
// value there and returns a pointer, which is valid until the next call.
func (v *valueWriter) separate(e keyspace.Entry) (keyspace.Entry, error) {
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
	if v.writer.Size() < v.config.Values.FileBytes {
		return e, nil
	}
	return e, v.end()
}

// fetch returns the entry of a pointer with its value, if the value is to be rewritten.
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

// end completes the open file, if any.
func (v *valueWriter) end() error {
	if v.writer == nil {
		return nil
	}
	size, err := v.writer.Finish()
	if err != nil {
		return fmt.Errorf("write value file %06d: %w", v.number, err)
	}
	v.writer = nil
	v.complete = append(v.complete, manifest.ValueFile{Number: v.number, Size: size})
	if err := errors.Join(v.file.Named(), v.file.Close()); err != nil {
		return fmt.Errorf("close value file %06d: %w", v.number, err)
	}
	return nil
}

// close closes the open file, if any.
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
		errs = append(errs, v.close(), remove(v.number))
	}
	for _, f := range v.complete {
		errs = append(errs, remove(f.Number))
	}
	v.complete = nil
	return errors.Join(errs...)
}
