package remote

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/stoatdb/stoat/remote/objstore"
)

// meter is a store that counts.
type meter struct {
	objstore.Store
	requests, bytes, received atomic.Uint64
}

// Unwrap returns the store itself.
func (m *meter) Unwrap() objstore.Store { return m.Store }

// Create implements [objstore.Store].
func (m *meter) Create(ctx context.Context, name string, body []byte) error {
	m.requests.Add(1)
	m.bytes.Add(uint64(len(body)))
	return m.Store.Create(ctx, name, body)
}

// Put implements [objstore.Store].
func (m *meter) Put(ctx context.Context, name string, body io.ReaderAt, size int64) error {
	m.requests.Add(1)
	m.bytes.Add(uint64(size))
	return m.Store.Put(ctx, name, body, size)
}

// Get implements [objstore.Store].
func (m *meter) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	m.requests.Add(1)
	p, err := m.Store.Get(ctx, name, off, n)
	m.received.Add(uint64(len(p)))
	return p, err
}

// Streams says whether the store itself does ([objstore.Streams]).
func (m *meter) Streams() bool { return objstore.Streams(m.Store) }

// GetTo implements [objstore.Streamer].
func (m *meter) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	m.requests.Add(1)
	written, err = objstore.GetTo(ctx, m.Store, name, off, n, w)
	m.received.Add(uint64(written))
	return written, err
}

// List implements [objstore.Store].
func (m *meter) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	m.requests.Add(1)
	return m.Store.List(ctx, prefix, after, limit)
}
