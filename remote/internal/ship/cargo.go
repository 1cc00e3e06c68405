package ship

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/objstore"
)

// loadPause is the pause after files could not be stored.
const loadPause = 200 * time.Millisecond

// cargo is the files of one version on their way to the store.
type cargo struct {
	changed atomic.Bool // there is a newer version than the one that is held

	mu     sync.Mutex
	held   *engine.Held // nil if there is none
	stored bool         // all its files are in the store
	busy   bool         // they are being stored
}

// edit returns what leads from a version to the one whose files are stored; nil if there is none.
func (c *cargo) edit(from *manifest.Version) *manifest.Edit {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stored {
		return nil
	}
	return from.EditTo(c.held.Version)
}

// release lets the files go. They are not being stored any more.
func (c *cargo) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.letGoLocked()
}

func (c *cargo) letGoLocked() {
	if c.held != nil {
		c.held.Release()
	}
	c.held, c.stored = nil, false
}

// load begins to store the files of the newest version, unless others are on their way. It lets
// files go if the log has led to their version.
func (s *Shipper) load(ctx context.Context) {
	s.writing.Lock()
	there := s.writer.State().Version
	s.writing.Unlock()
	c := &s.cargo
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stored && there.EditTo(c.held.Version) == nil {
		s.collector.delivered(there)
		c.letGoLocked()
	}
	if c.busy || c.held != nil || !c.changed.Swap(false) {
		return
	}
	c.held, c.busy = s.engine.Hold(), true
	held := c.held
	s.running.Go(func() {
		err := s.storeFiles(ctx, held, there)
		if err != nil {
			s.note(err)
			sleep(ctx, loadPause, nil)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.busy, c.stored = false, err == nil; err != nil {
			c.letGoLocked() // a newer version may need fewer files
			c.changed.Store(true)
		}
		poke(s.wake)
	})
}

// storeFiles stores the files that a version names and the one in the store does not.
func (s *Shipper) storeFiles(
	ctx context.Context, held *engine.Held, there *manifest.Version,
) error {
	known := there.TableNumbers()
	for t := range held.Version.Tables() {
		if known[t.Number] {
			continue
		}
		if err := s.storeFile(ctx, held, folder.Table, t.Number, int64(t.Size)); err != nil {
			return err
		}
	}
	for _, f := range held.Version.ValueFiles {
		if _, ok := there.ValueFile(f.Number); ok {
			continue
		}
		if err := s.storeFile(ctx, held, f.Kind(), f.Number, int64(f.Size)); err != nil {
			return err
		}
	}
	return nil
}

// storeFile stores the first size bytes of a file.
func (s *Shipper) storeFile(
	ctx context.Context, held *engine.Held, kind folder.Kind, number uint64, size int64,
) (err error) {
	file, err := held.Open(kind, number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := history.DataName(kind, number)
	if number>>epochShift == s.epoch {
		s.collector.store(name)
		return s.log.Store.Put(ctx, name, file, size)
	}
	return s.adopt(ctx, name, file, size)
}

// adopt stores a file that was made before the claim. A copy of the folder may have another one by
// this name, which whoever was the writer there may store even now; so the first one counts.
func (s *Shipper) adopt(ctx context.Context, name string, file vfs.File, size int64) error {
	body := make([]byte, size)
	if n, err := file.ReadAt(body, 0); n < len(body) {
		return fmt.Errorf("read for %s: %w", name, errors.Join(err, io.ErrUnexpectedEOF))
	}
	err := s.log.Store.Create(ctx, name, body)
	if !errors.Is(err, objstore.ErrExists) {
		return err
	}
	there, err := s.log.Store.Get(ctx, name, 0, size)
	if err == nil && !bytes.Equal(there, body) {
		err = fmt.Errorf("%s is another file in the store: %w", name, ErrApart)
	}
	return err
}
