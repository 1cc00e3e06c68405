package backup

import (
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
)

// Sealing encrypts the files of a stream.
type Sealing interface {
	// Wrappings returns the contents of the files KEY-000001 and so on. Each opens the other files.
	Wrappings() ([][]byte, error)
	// Size returns how long a file is, of so much content.
	Size(content int64) int64
	// Seal returns what writes a file, given its content; Close ends it, and leaves w open.
	Seal(w io.Writer) (io.WriteCloser, error)
}

// Opening decrypts the files of a stream. A stream that is not encrypted is refused.
type Opening interface {
	// Unwrap takes the content of a file KEY-000001.
	Unwrap(name string, content []byte) error
	// Open returns what reads the content of a file with so many bytes, and its size.
	Open(name string, r io.Reader, stored int64) (content io.Reader, size int64, err error)
}

// sum is the checksum of what is written to it.
type sum uint32

// Write implements io.Writer.
func (s *sum) Write(p []byte) (int, error) {
	*s = sum(checksum.Extend(uint32(*s), p))
	return len(p), nil
}

// unsealed writes a file as it is.
type unsealed struct{ io.Writer }

// Close implements io.Closer.
func (unsealed) Close() error { return nil }

// member starts a file of the stream with so much content. Once it is closed, stored is the
// checksum of what is in the stream.
func (s *Stream) member(name string, size int64) (to io.WriteCloser, stored *sum, err error) {
	stored = new(sum)
	out := io.MultiWriter(s.tar, stored)
	seal := s.source.Seal
	if seal == nil {
		return unsealed{out}, stored, s.start(name, size)
	}
	if err := s.start(name, seal.Size(size)); err != nil {
		return nil, nil, err
	}
	to, err = seal.Seal(out)
	return to, stored, err
}

// wrappings writes the key of the stream, if it has one.
func (s *Stream) wrappings() error {
	if s.source.Seal == nil {
		return nil
	}
	all, err := s.source.Seal.Wrappings()
	if err != nil {
		return err
	}
	for i, content := range all {
		name := folder.KeyName(uint64(i) + 1)
		s.sums = appendSum(s.sums, name, checksum.Of(content))
		if err := s.write(name, content); err != nil {
			return err
		}
	}
	return nil
}

// unwrap reads a file with the key of the stream, which is the current one.
func (in *receiver) unwrap(name string) error {
	if in.opening == nil {
		return fmt.Errorf("the stream is encrypted, and its key is needed: %w", corrupt.ErrKey)
	}
	content, err := in.read(in.tar, maxTitleBytes)
	if err != nil {
		return err
	}
	in.sums = appendSum(in.sums, name, checksum.Of(content))
	in.sealed = true
	return in.opening.Unwrap(streamName+": "+name, content)
}

// content returns what reads the content of the current file, with its size.
func (in *receiver) content(name string, from io.Reader, stored int64) (io.Reader, int64, error) {
	switch {
	case in.opening == nil:
		return from, stored, nil
	case !in.sealed:
		return nil, 0, fmt.Errorf("the stream is not encrypted, restore it without a key: %w",
			corrupt.ErrKey)
	}
	r, size, err := in.opening.Open(streamName+": "+name, from, stored)
	if err != nil {
		return nil, 0, in.failure(err)
	}
	return r, size, nil
}
