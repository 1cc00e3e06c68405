package ship

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/objstore"
)

// upload is a file that a version names, and that is in the store or to be stored: the first size
// bytes of it.
type upload struct {
	kind   folder.Kind
	number uint64
	size   int64
}

// object returns the name of the object that holds the file.
func (u upload) object() string { return history.DataName(u.kind, u.number) }

// byAge compares files by when they were made.
func byAge(a, b upload) int { return cmp.Compare(a.number, b.number) }

// uploads returns the files that a version names, and that the one in the store does not.
func uploads(version, there *manifest.Version) (files []upload) {
	known := there.TableNumbers()
	for t := range version.Tables() {
		if !known[t.Number] {
			files = append(files, upload{folder.Table, t.Number, int64(t.Size)})
		}
	}
	for _, f := range version.ValueFiles {
		if _, ok := there.ValueFile(f.Number); !ok {
			files = append(files, upload{f.Kind(), f.Number, int64(f.Size)})
		}
	}
	return files
}

// filesOf returns all files of a version.
func filesOf(v *manifest.Version) []upload { return uploads(v, new(manifest.Version)) }

// bytesOf returns what files take.
func bytesOf(files []upload) (bytes int64) {
	for _, u := range files {
		bytes += u.size
	}
	return bytes
}

// storeFiles stores files that a version names, several at a time. Those that it has stored before
// an error are not stored again by the next call.
func (s *Shipper) storeFiles(ctx context.Context, held *engine.Held, files []upload) error {
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
func (s *Shipper) storeOnce(ctx context.Context, held *engine.Held, u upload) error {
	c := &s.cargo
	c.mu.Lock()
	done := c.sent[u]
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
	if err := s.storeFile(ctx, held, u); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[upload]bool{}
	}
	c.sent[u], c.tries = true, 0
	return nil
}

// storeFile stores a file.
func (s *Shipper) storeFile(ctx context.Context, held *engine.Held, u upload) (err error) {
	file, err := held.Open(u.kind, u.number)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	name := u.object()
	if s.isOwn(u) {
		s.collector.store(name)
		return s.log.Store.Put(ctx, name, paced{ctx, file, &s.throttle}, u.size)
	}
	s.adopting.Lock() // one of them is in memory at a time
	defer s.adopting.Unlock()
	return s.adopt(ctx, name, file, u.size)
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
