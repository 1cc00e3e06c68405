package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

// input is a file, or standard input, that is read from its start, and decompressed if it begins
// like gzip or zstd. An interrupt ends reading with errInterrupted, even while a read blocks. It is
// not safe for concurrent use.
type input struct {
	name   string // for messages
	ctx    context.Context
	file   *os.File       // nil: standard input
	info   os.FileInfo    // nil: standard input
	stream *io.PipeReader // for input that cannot be read again: standard input, or a pipe

	read int64 // bytes of the file, or of standard input, as they are stored
	text unpacker
}

// openInput opens a file, or standard input if the name is -. The caller must call close.
func openInput(ctx context.Context, s *stdio, name string) (*input, error) {
	in := &input{name: name, ctx: ctx}
	if name == "-" {
		in.name = "standard input"
		in.stream = interruptibleReader(ctx, s.in)
	} else if err := in.open(name); err != nil {
		return nil, err
	}
	if err := in.start(); err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// open opens a file.
func (in *input) open(name string) (err error) {
	if in.file, err = os.Open(name); err != nil {
		return err
	}
	if in.info, err = in.file.Stat(); err == nil && in.info.IsDir() {
		err = fmt.Errorf("%s is a directory, not a file", name)
	}
	if err != nil {
		return errors.Join(err, in.file.Close())
	}
	if !in.info.Mode().IsRegular() {
		in.stream = interruptibleReader(in.ctx, in.file)
	}
	return nil
}

// interruptibleReader passes on what r reads until the context ends, even if r blocks then.
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

// start reads the first bytes and detects compression.
func (in *input) start() (err error) {
	in.text, err = unpack(bufio.NewReaderSize(rawInput{in}, 1<<16))
	if err != nil && !errors.Is(err, errInterrupted) {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	return err
}

// rawInput reads an input before decompression.
type rawInput struct{ in *input }

// Read implements io.Reader.
func (r rawInput) Read(p []byte) (n int, err error) {
	if err := interrupted(r.in.ctx); err != nil {
		return 0, err
	}
	if r.in.stream != nil {
		n, err = r.in.stream.Read(p)
	} else {
		n, err = r.in.file.Read(p)
	}
	r.in.read += int64(n)
	return n, err
}

// Read implements io.Reader: it reads the text.
func (in *input) Read(p []byte) (int, error) { return in.text.Read(p) }

// seek continues at an offset of the text after its start. Only a regular file can do that.
func (in *input) seek(offset int64) error {
	in.text.close()
	in.read = 0
	if in.text.format == "" {
		in.read = offset
	}
	if _, err := in.file.Seek(in.read, io.SeekStart); err != nil {
		return err
	}
	if in.read > 0 {
		in.text = unpacker{Reader: bufio.NewReaderSize(rawInput{in}, 1<<16)}
		return nil
	}
	if err := in.start(); err != nil {
		return err
	}
	if _, err := io.CopyN(io.Discard, in, offset); err != nil {
		return fmt.Errorf("%s: read on at offset %d: %w", in.name, offset, err)
	}
	return nil
}

// size returns the size of the file, as it is stored, or 0 if that is unknown.
func (in *input) size() int64 {
	if in.info == nil || in.stream != nil {
		return 0
	}
	return in.info.Size()
}

// close closes the file, to which nothing was written.
func (in *input) close() {
	in.text.close()
	if in.stream != nil {
		in.stream.Close() // always nil
	}
	if in.file != nil {
		in.file.Close() // nothing was written
	}
}
