package ship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/objstore"
)

// storeFiles stores files that a version names, several at a time. Those that it has stored before
// an error are not stored again by the next call.
func (s *Shipper) storeFiles(ctx context.Context, held *engine.Held, files []dataFile) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(s.config.Uploads, len(files)) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(files)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				if err := s.storeOnce(ctx, held, files[i]); err != nil {
					fail(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// storeOnce stores a file, unless that was done.
func (s *Shipper) storeOnce(ctx context.Context, held *engine.Held, d dataFile) error {
	c := &s.cargo
	c.mu.Lock()
	done := c.sent[d]
	c.mu.Unlock()
	switch {
	case done:
		return nil
	case s.closing.Load():
		return engine.ErrClosed
	}
	if ended := s.whyEnded(); ended != nil {
		return ended
	}
	if err := s.storeFile(ctx, held, d); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[dataFile]bool{}
	}
	c.sent[d], c.tries = true, 0
	return nil
}

// storeFile stores a file.
func (s *Shipper) storeFile(ctx context.Context, held *engine.Held, d dataFile) (err error) {
	file, err := held.Open(d.kind, d.number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := d.object()
	if s.isOwn(d) {
		s.collector.store(name)
		return s.log.Store.Put(ctx, name, paced{ctx, file, &s.throttle}, d.size)
	}
	s.adopting.Lock() // one of them is in memory at a time
	defer s.adopting.Unlock()
	return s.adopt(ctx, name, file, d.size)
}

// compareBytes is how much of a file is compared with one in the store by one request.
const compareBytes = 2 << 20

// adopt stores a file that was made before the claim. A copy of the folder may have another one by
// this name, which whoever was the writer there may store even now; so the first one counts.
func (s *Shipper) adopt(ctx context.Context, name string, file vfs.File, size int64) error {
	body := make([]byte, size)
	if n, err := (paced{ctx, file, &s.throttle}).ReadAt(body, 0); n < len(body) {
		return fmt.Errorf("read for %s: %w", name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	err := s.log.Store.Create(ctx, name, body)
	if !errors.Is(err, objstore.ErrExists) {
		return err
	}
	for at := int64(0); at < size; at += compareBytes {
		want := body[at:min(at+compareBytes, size)]
		there, err := s.log.Store.Get(ctx, name, at, int64(len(want)))
		if err != nil {
			return err
		}
		if !bytes.Equal(there, want) {
			return fmt.Errorf("%s is another file in the store: %w", name, ErrApart)
		}
	}
	return nil
}
