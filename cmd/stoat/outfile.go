package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// outfile is a file that appears under its name when it is complete, in place of any earlier one.
type outfile struct {
	*bufio.Writer
	name string
	temp *os.File
}

// createOutfile starts a file. The caller must call finish or discard.
func createOutfile(name string) (*outfile, error) {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	// A device must not be replaced, and opening it may block.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file: write to - and redirect the output", name)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return nil, err
	}
	return &outfile{bufio.NewWriterSize(temp, 1<<16), name, temp}, nil
}

// finish makes the file durable and gives it its name.
func (f *outfile) finish() error {
	err := f.Flush()
	if err == nil {
		err = f.temp.Sync()
	}
	err = errors.Join(err, f.temp.Close())
	if err == nil {
		err = os.Rename(f.temp.Name(), f.name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.temp.Name()))
	}
	return nil
}

// discard removes what was written.
func (f *outfile) discard() error {
	return errors.Join(f.temp.Close(), os.Remove(f.temp.Name()))
}
