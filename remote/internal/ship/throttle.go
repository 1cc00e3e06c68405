package ship

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// throttle bounds how many bytes a second are sent. The zero value bounds nothing. Safe for
// concurrent use.
type throttle struct {
	rate int64 // bytes a second; 0: any number

	mu   sync.Mutex
	free time.Time // when everything that was let through will have been sent at that rate
}

// charge counts bytes that are sent without waiting, and returns how long they would have to wait.
func (t *throttle) charge(bytes int) time.Duration {
	if t.rate <= 0 {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.free.Before(now) {
		t.free = now
	}
	wait := t.free.Sub(now)
	t.free = t.free.Add(time.Duration(float64(bytes) / float64(t.rate) * float64(time.Second)))
	return wait
}

// pass returns when bytes may be sent, or why ctx ended.
func (t *throttle) pass(ctx context.Context, bytes int) error {
	if wait := t.charge(bytes); wait > 0 && !retry.Sleep(ctx, wait, nil) {
		return context.Cause(ctx)
	}
	return nil
}

// pieceBytes is how much passes a throttle at a time.
const pieceBytes = 64 << 10

// paced is a file that is read as fast as a throttle lets it pass.
type paced struct {
	ctx      context.Context
	file     io.ReaderAt
	throttle *throttle
}

var _ objstore.Paced = paced{}

// Unpaced implements [objstore.Paced].
func (p paced) Unpaced() io.ReaderAt { return p.file }

// ReadAt implements [io.ReaderAt].
func (p paced) ReadAt(b []byte, off int64) (n int, err error) {
	if p.throttle.rate <= 0 {
		return p.file.ReadAt(b, off)
	}
	for n < len(b) && err == nil {
		piece := b[n:min(n+pieceBytes, len(b))]
		if err := p.throttle.pass(p.ctx, len(piece)); err != nil {
			return n, err
		}
		var read int
		read, err = p.file.ReadAt(piece, off+int64(n))
		n += read
	}
	return n, err
}
