package replicatest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// whole is the number of bytes of a connection that does not break.
const whole = -1

// meet makes two replicas equal, unless their connection breaks after so many bytes. A broken
// connection is no error.
func (w *world[S]) meet(a, b *member[S], bytes int) error {
	x, y := net.Pipe()
	var conn io.ReadWriteCloser = x
	if bytes != whole {
		c := &fragile{Conn: x}
		c.left.Store(int64(bytes))
		conn = c
	}
	other := make(chan error, 1)
	go func() { other <- replica.Sync(w.ctx, b.space, y, nil) }()
	err := replica.Sync(w.ctx, a.space, conn, &replica.SyncOptions{Once: true})
	if errors.Is(err, replica.ErrAhead) {
		err = nil // clocks are wrong in some histories
	}
	err = errors.Join(err, <-other)
	if bytes != whole {
		return nil
	}
	return err
}

// double has two sessions of the same replicas at once.
func (w *world[S]) double(a, b *member[S]) error {
	var both sync.WaitGroup
	errs := make([]error, 2)
	both.Go(func() { errs[0] = w.meet(a, b, whole) })
	both.Go(func() { errs[1] = w.meet(b, a, whole) })
	both.Wait()
	return errors.Join(errs...)
}

// fragile is a connection that breaks after so many bytes, in both directions together.
type fragile struct {
	net.Conn
	left atomic.Int64
}

// Read reads what is left before the connection breaks.
func (c *fragile) Read(p []byte) (int, error) { return c.take(p, c.Conn.Read) }

// Write writes what is left before the connection breaks.
func (c *fragile) Write(p []byte) (int, error) { return c.take(p, c.Conn.Write) }

func (c *fragile) take(p []byte, move func([]byte) (int, error)) (int, error) {
	most := max(0, min(int64(len(p)), c.left.Load()))
	if most == 0 && len(p) > 0 {
		return 0, errors.Join(io.ErrClosedPipe, c.Close())
	}
	n, err := move(p[:most])
	c.left.Add(int64(-n))
	if err == nil && n < len(p) && c.left.Load() <= 0 {
		err = errors.Join(io.ErrClosedPipe, c.Close())
	}
	return n, err
}

// converge sets all clocks right, brings all replicas together, and compares them.
func (w *world[S]) converge() error {
	w.now = w.now.Add(2 * jumpMax * time.Second)
	for _, m := range w.members {
		m.clock.Store(0)
	}
	var roots map[[32]byte]bool
	for range 2 * len(w.members) {
		for i, m := range w.members {
			w.tick()
			if err := w.meet(m, w.members[(i+1)%len(w.members)], whole); err != nil {
				return fmt.Errorf("all come together: %w", err)
			}
		}
		roots = map[[32]byte]bool{}
		for _, m := range w.members {
			err := m.db.View(func(tx *stoat.Tx) error {
				root, err := m.space.Root(tx)
				roots[root] = true
				return err
			})
			if err != nil {
				return err
			}
		}
		if len(roots) == 1 {
			break
		}
	}
	if len(roots) > 1 {
		return fmt.Errorf("the replicas have %d different states when all have met", len(roots))
	}
	for i := range w.members {
		if err := w.check(i); err != nil {
			return fmt.Errorf("when all have met: %w", err)
		}
	}
	return nil
}
