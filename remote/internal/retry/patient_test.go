package retry

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/remote/cryptstore"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// trickle is a store that hands over a byte at a time.
type trickle struct {
	objstore.Store
	pause time.Duration // before each byte
	cuts  int           // how many answers end after half of what they have
	asked int           // for how many bytes
}

var errCut = errors.New("the answer was cut")

// GetTo implements [objstore.Streamer].
func (s *trickle) GetTo(
	ctx context.Context, name string, off, n int64, w io.Writer,
) (written int64, err error) {
	p, err := s.Get(ctx, name, off, n)
	if err != nil {
		return 0, err
	}
	s.asked += len(p)
	for i := range p {
		if s.cuts > 0 && i == (len(p)+1)/2 {
			s.cuts--
			return int64(i), errCut
		}
		if !Sleep(ctx, s.pause, nil) {
			return int64(i), context.Cause(ctx)
		}
		if _, err := w.Write(p[i : i+1]); err != nil {
			return int64(i), err
		}
	}
	return int64(len(p)), nil
}

// What comes slowly, comes: to cut it would mean to ask for it for ever.
func TestPatient_waitsForWhatComesSlowly(t *testing.T) {
	const patience = 10 * time.Second
	for name, c := range map[string]struct {
		pause time.Duration
		cuts  int
		fails bool
	}{
		"fast": {}, "slow": {pause: patience - time.Second}, "cut": {cuts: 3},
		"slow and cut": {patience - time.Second, 3, false}, "dead": {2 * patience, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &trickle{Store: memstore.New(), pause: c.pause, cuts: c.cuts}
			if err := s.Create(t.Context(), "data/a", []byte("0123456789")); err != nil {
				t.Fatal(err)
			}
			p, began := &Patient{Store: s, Patience: patience}, time.Now()
			got, err := p.Get(t.Context(), "data/a", 1, 8)
			switch {
			case c.fails && (err == nil || time.Since(began) != patience):
				t.Errorf("%s: after %v: %v", name, time.Since(began), err)
			case !c.fails && (err != nil || string(got) != "12345678"):
				t.Errorf("%s: %q: %v", name, got, err)
			case !c.fails && s.asked > 8+c.cuts*4:
				t.Errorf("%s: %d bytes were asked for", name, s.asked)
			}
			if got, err := p.Get(t.Context(), "data/a", 8, 100); !c.fails &&
				(err != nil || string(got) != "89") {
				t.Errorf("%s: beyond the end: %q: %v", name, got, err)
			}
			if _, err := p.Get(t.Context(), "data/b", 0, 1); !errors.Is(err, objstore.ErrNotExist) {
				t.Errorf("%s: what is missing: %v", name, err)
			}
		})
	}
}

// A store that decrypts has nothing to hand over until it has a page of 16 KiB.
func TestPatient_waitsForPagesThatComeSlowly(t *testing.T) {
	const patience = 10 * time.Second
	key, content := make([]byte, 32), bytes.Repeat([]byte("slow"), 5_000)
	synctest.Test(t, func(t *testing.T) {
		slow := &trickle{Store: memstore.New()}
		s, err := cryptstore.Open(t.Context(), slow, key)
		if err == nil {
			err = s.Create(t.Context(), "data/a", content)
		}
		if err != nil {
			t.Fatal(err)
		}
		slow.asked, slow.pause = 0, 10*time.Millisecond // 100 bytes a second
		p := &Patient{Store: s, Patience: patience}
		got, err := p.Get(t.Context(), "data/a", 10_000, 8_000)
		if err != nil || !bytes.Equal(got, content[10_000:18_000]) {
			t.Errorf("%d bytes: %v", len(got), err)
		}
		if slow.asked > 32<<10 {
			t.Errorf("%d bytes were asked for", slow.asked)
		}
		slow.pause = 2 * patience
		if _, err := p.Get(t.Context(), "data/a", 0, 100); !errors.Is(err, errPatience) {
			t.Errorf("from a connection that is dead: %v", err)
		}
	})
}
