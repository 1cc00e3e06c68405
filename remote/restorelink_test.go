package remote_test

import (
	"context"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// linked is a store behind a link that carries so many bytes a second, for all answers together,
// each of which begins after a delay.
type linked struct {
	objstore.Store
	delay time.Duration
	rate  float64

	mu      sync.Mutex
	free    time.Time // when all that was answered so far has gone through the link
	carried int
	onWay   int64 // bytes in memory, of answers that are under way
	most    int64 // of onWay
}

// carry returns when bytes have gone through the link.
func (l *linked) carry(bytes int) {
	l.mu.Lock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(bytes) / l.rate * 1e9))
	l.carried += bytes
	wait := l.free.Sub(now)
	l.mu.Unlock()
	<-time.After(wait)
}

func (l *linked) hold(bytes int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onWay += bytes
	l.most = max(l.most, l.onWay)
}

func (l *linked) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	<-time.After(l.delay)
	p, err := l.Store.Get(ctx, name, off, n)
	l.hold(int64(len(p)))
	defer l.hold(-int64(len(p)))
	const packet = 64 << 10
	for at := 0; at < len(p); at += packet {
		l.carry(min(packet, len(p)-at))
	}
	return p, err
}

func (l *linked) List(
	ctx context.Context, prefix, after string, limit int,
) ([]objstore.Object, error) {
	<-time.After(l.delay)
	return l.Store.List(ctx, prefix, after, limit)
}

// streamed is a linked store that hands over what comes.
type streamed struct{ *linked }

func (s streamed) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	<-time.After(s.delay)
	const packet = 64 << 10
	for written < n {
		p, err := s.Store.Get(ctx, name, off+written, min(packet, n-written))
		if len(p) == 0 {
			return written, err
		}
		s.carry(len(p))
		took, err := w.Write(p)
		if written += int64(took); err != nil {
			return written, err
		}
	}
	return written, nil
}

// fill puts a database of so many bytes, which cannot be compressed, into a store.
func fill(t *testing.T, store objstore.Store, bytes int) {
	t.Helper()
	db, err := open(t, store, memfs.New(), remote.Options{}, engine.Tuning{})
	ok(t, err)
	random := rand.NewChaCha8([32]byte{1})
	for at := 0; at < bytes; at += 1 << 20 {
		ok(t, db.Update(func(tx *stoat.Tx) error {
			for i := range 1 << 10 {
				value := make([]byte, 1<<10)
				_, _ = random.Read(value)
				if err := tx.Put([]byte(strconv.Itoa(at+i)), value); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	ok(t, db.Compact(t.Context()))
	ok(t, db.Ship(t.Context()))
	ok(t, db.Close())
}

// A restore takes some answers of the store before it knows what to fetch, and then as long as the
// link takes for the bytes. By this clock, which only waiting moves, whatever is not fetched while
// something else is waited for is to be seen.
func TestRestore_takesWhatTheLinkTakes(t *testing.T) {
	const (
		rate    = 100e6
		answers = 5 // the states; the log; its objects; the look back after its claim; the first bytes
	)
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		fill(t, store, 24<<20)
		for _, delay := range []time.Duration{0, 20, 100} {
			for _, streams := range []bool{true, false} {
				link := &linked{Store: store, delay: delay * time.Millisecond, rate: rate}
				var behind objstore.Store = streamed{link}
				turns := answers * link.delay
				if !streams { // a piece is two MiB, one after the other
					behind, turns = link, turns+link.delay
				}
				start := time.Now()
				ok(t, tryRestore(behind, memfs.New(), remote.RestoreOptions{}))
				took := time.Since(start) - turns
				least := time.Duration(float64(link.carried) / rate * 1e9)
				t.Logf("%v, streams %v: %v, of which the link takes %v; at most %d bytes in memory",
					link.delay, streams, time.Since(start), least, link.most)
				if took > least*5/4 {
					t.Errorf("a delay of %v: besides answers of %v, %v, where the link takes %v", link.delay,
						turns, took, least)
				}
				if most := int64(16 << 20); link.most > most {
					t.Errorf("%d bytes are in memory, want at most %d", link.most, most)
				}
			}
		}
	})
}
