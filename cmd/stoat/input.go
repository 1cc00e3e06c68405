package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// input is a file, or standard input, that is read from its start on, and decompressed on the way
// if it begins as gzip or zstd do. An interrupt ends reading with errInterrupted, also while
// standard input has nothing to read. It is not safe for concurrent use.
type input struct {
	name string // for messages
	ctx  context.Context
	file *os.File       // nil: standard input
	pipe *io.PipeReader // standard input
	info os.FileInfo    // nil for standard input

	done int64 // bytes of the file, or of standard input, that were read
	text unpacker
}

// openInput opens a file, or standard input if the name is -. The caller must call close.
func openInput(ctx context.Context, s *stdio, name string) (*input, error) {
	in := &input{name: name, ctx: ctx}
	if name == "-" {
		in.name = "standard input"
		in.pipe = interruptibleReader(ctx, s.in)
	} else {
		var err error
		if in.file, err = os.Open(name); err != nil {
			return nil, err
		}
		if in.info, err = in.file.Stat(); err == nil && in.info.IsDir() {
			err = fmt.Errorf("%s is a folder", name)
		}
		if err != nil {
			return nil, errors.Join(err, in.file.Close())
		}
	}
	if err := in.start(); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// interruptibleReader passes on what r has until the context ends, whatever r waits for then.
func interruptibleReader(ctx context.Context, r io.Reader) *io.PipeReader {
	from, to := io.Pipe()
	stop := context.AfterFunc(ctx, func() { to.CloseWithError(errInterrupted) })
	go func() { // ends when r does, or with the process
		_, err := io.Copy(to, r)
		to.CloseWithError(err)
		stop()
	}()
	return from
}

// start reads the first bytes, and chooses how to go on.
func (in *input) start() (err error) {
	in.text, err = unpack(bufio.NewReaderSize(rawInput{in}, 1<<16))
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	return nil
}

// rawInput is what an input reads before it is decompressed.
type rawInput struct{ in *input }

// Read implements io.Reader.
func (r rawInput) Read(p []byte) (n int, err error) {
	if err := interrupted(r.in.ctx); err != nil {
		return 0, err
	}
	if r.in.pipe != nil {
		n, err = r.in.pipe.Read(p)
	} else {
		n, err = r.in.file.Read(p)
	}
	r.in.done += int64(n)
	return n, err
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) { return in.text.Read(p) }

// seek goes on at an offset of the text. Only a file can do that.
func (in *input) seek(offset int64) error {
	in.text.close()
	in.done = 0
	if !in.text.packed() {
		in.done = offset
	}
	if _, err := in.file.Seek(in.done, io.SeekStart); err != nil {
		return err
	}
	if in.done > 0 {
		in.text = unpacker{Reader: bufio.NewReaderSize(rawInput{in}, 1<<16)}
		return nil
	}
	if err := in.start(); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, in, offset); err != nil {
		return fmt.Errorf("read on at offset %d: %w", offset, err)
	}
	return nil
}

// size returns the size of the file, as it is stored, or 0 if that is unknown.
func (in *input) size() int64 {
	if in.info == nil || !in.info.Mode().IsRegular() {
		return 0
	}
	return in.info.Size()
}

// close closes the file, to which nothing was written.
func (in *input) close() {
	in.text.close()
	if in.pipe != nil {
		in.pipe.Close() // always nil
		return
	}
	in.file.Close() // nothing was written
}
