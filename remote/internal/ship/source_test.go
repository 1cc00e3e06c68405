package ship

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// crowded is a store that answers once so many requests are on their way.
type crowded struct {
	objstore.Store
	mu      sync.Mutex
	missing int
	full    chan struct{} // closed when no request is missing
}

func (c *crowded) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	c.mu.Lock()
	if c.missing--; c.missing == 0 {
		close(c.full)
	}
	c.mu.Unlock()
	<-c.full
	return c.Store.Get(ctx, name, off, n)
}

// fetched returns what fetch makes of an object of so many bytes that the state says are size.
func fetched(t *testing.T, stored []byte, size int64, crowd int) ([]byte, error) {
	t.Helper()
	under := memstore.New()
	name := history.DataName(folder.Table, 7)
	if err := under.Put(t.Context(), name, bytes.NewReader(stored), int64(len(stored))); err != nil {
		t.Fatal(err)
	}
	store := &crowded{Store: under, missing: crowd, full: make(chan struct{})}
	s := &Source{log: &history.Log{Store: store}}
	file, err := memfs.New().Create("file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := s.fetch(t.Context(), folder.Table, 7, size, file); err != nil {
		return nil, err
	}
	got := make([]byte, size)
	_, err = file.ReadAt(got, 0)
	return got, err
}

func TestFetch_hasSeveralPartsOnTheirWay(t *testing.T) {
	const seed = 1
	random := rand.NewChaCha8([32]byte{seed})
	for _, size := range []int64{0, 1, fetchBytes, fetchBytes + 1, 11*fetchBytes - 1} {
		synctest.Test(t, func(t *testing.T) { // which fails if fetch waits for an answer too early
			stored := make([]byte, size)
			_, _ = random.Read(stored)
			crowd := min(fetchParts, int((size+fetchBytes-1)/fetchBytes))
			got, err := fetched(t, stored, size, crowd)
			if err != nil || !bytes.Equal(got, stored) {
				t.Errorf("%d bytes: another file, or error %v", size, err)
			}
		})
	}
}

func TestFetch_noticesAnObjectThatEndsEarly(t *testing.T) {
	for _, missing := range []int64{1, fetchBytes, 2 * fetchBytes} {
		synctest.Test(t, func(t *testing.T) { // which fails if a request outlives fetch
			const size = 5*fetchBytes + 3
			_, err := fetched(t, make([]byte, size-missing), size, fetchParts)
			if !errors.Is(err, corrupt.Err) {
				t.Errorf("without the last %d bytes: error %v", missing, err)
			}
		})
	}
}
