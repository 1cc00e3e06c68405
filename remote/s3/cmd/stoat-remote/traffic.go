package main

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote/objstore"
)

// traffic is a store that shows what passes through it as a progress line. Safe for concurrent use.
type traffic struct {
	objstore.Store
	mu     sync.Mutex
	line   *progress.Line
	failed error // why the last object could not be stored; nil if it was
}

// watched returns a store that shows its progress on standard error, if that is a terminal, for a
// job of total bytes, or 0 if unknown. The caller must call finish.
func watched(s *stdio, store objstore.Store, label string, total int64) *traffic {
	return &traffic{
		Store: store, line: progress.NewLine(terminal(s.err), time.Now, label, total),
	}
}

// finish removes the line.
func (t *traffic) finish() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Finish()
}

func (t *traffic) add(bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.line.Add(bytes)
}

// note records whether an object could be stored.
func (t *traffic) note(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failed = err; errors.Is(err, objstore.ErrExists) {
		t.failed = nil
	}
}

// trouble returns why the last object could not be stored; nil if it was.
func (t *traffic) trouble() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed
}

// Unwrap returns the store itself.
func (t *traffic) Unwrap() objstore.Store { return t.Store }

// Encrypts implements [objstore.Encrypting].
func (t *traffic) Encrypts() bool { return objstore.Encrypts(t.Store) }

// Streams says whether the store itself does ([objstore.Streams]).
func (t *traffic) Streams() bool { return objstore.Streams(t.Store) }

// Create implements [objstore.Store].
func (t *traffic) Create(ctx context.Context, name string, body []byte) error {
	err := t.Store.Create(ctx, name, body)
	t.add(int64(len(body)))
	t.note(err)
	return err
}

// Put implements [objstore.Store].
func (t *traffic) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	err := t.Store.Put(ctx, name, body, size)
	t.add(size)
	t.note(err)
	return err
}

// Get implements [objstore.Store].
func (t *traffic) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	p, err := t.Store.Get(ctx, name, off, n)
	t.add(int64(len(p)))
	return p, err
}

// GetTo implements [objstore.Streamer].
func (t *traffic) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	return objstore.GetTo(ctx, t.Store, name, off, n, passing{w, t})
}

// passing is where bytes from a store go, past the progress line.
type passing struct {
	io.Writer
	traffic *traffic
}

// Write implements [io.Writer].
func (p passing) Write(b []byte) (n int, err error) {
	n, err = p.Writer.Write(b)
	p.traffic.add(int64(n))
	return n, err
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
