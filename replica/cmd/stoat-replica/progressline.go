package main

import (
	"io"
	"os"
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// newProgress starts a progress line on standard error, if that is a terminal, for a job of total
// bytes, or 0 if unknown.
func newProgress(s *stdio, label string, total int64) *progress.Line {
	return progress.NewLine(terminal(s.err), time.Now, label, total)
}

// terminal returns w if it is a terminal, otherwise nil.
func terminal(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return w
}

// counted is a reader and writer that shows the progress of what passes through it.
type counted struct {
	r    io.Reader
	w    io.Writer
	line *progress.Line
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.line.Add(int64(n))
	return n, err
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.line.Add(int64(n))
	return n, err
}
