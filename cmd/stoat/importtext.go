package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/commands/intake"
)

const byteOrderMark = "\xef\xbb\xbf"

// importText is the text of a source: a file that may be compressed, or standard input.
// It is not safe for concurrent use.
type importText struct {
	*input
	kind string
	path string // absolute; of standard input -
}

func openText(ctx context.Context, s *stdio, kind, name string) (*importText, error) {
	path := name
	if name != "-" {
		var err error
		if path, err = filepath.Abs(name); err != nil {
			return nil, err
		}
	}
	in, err := openInput(ctx, s, path)
	if err != nil {
		return nil, err
	}
	return &importText{in, kind, path}, nil
}

func (t *importText) source() intake.Source {
	source := intake.Source{Kind: t.kind, Path: t.path}
	if !t.once() {
		source.Identity = intake.Identity(t.info)
	}
	return source
}

func (t *importText) once() bool         { return t.stream != nil }
func (t *importText) done() int64        { return t.read }
func (t *importText) findings() []string { return nil }

func (t *importText) close() error {
	t.input.close()
	return nil
}

// from returns a reader of the text from offset on; start is offset, or the end of the byte order
// mark. Offset 0 is for text that has not been read yet.
func (t *importText) from(offset int64) (r *bufio.Reader, start int64, err error) {
	if offset > 0 {
		err := t.seek(offset)
		return bufio.NewReaderSize(t, 1<<16), offset, err
	}
	r = bufio.NewReaderSize(t, 1<<16)
	head, err := r.Peek(len(byteOrderMark))
	if err != nil && err != io.EOF {
		return nil, 0, fmt.Errorf("%s: %w", t.name, err)
	}
	if bytes.Equal(head, []byte(byteOrderMark)) {
		_, err = r.Discard(len(byteOrderMark))
		return r, int64(len(byteOrderMark)), err
	}
	return r, 0, nil
}
