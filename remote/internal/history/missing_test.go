package history

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/remote/objstore"
)

// stateless is a store that lists states, and does not have them: one is lost, or a cache between
// answers for it.
type stateless struct {
	objstore.Store
	gets int
}

func (s *stateless) Get(ctx context.Context, name string, off, n int64) ([]byte, error) {
	if !strings.HasPrefix(name, statePrefix) {
		return s.Store.Get(ctx, name, off, n)
	}
	if s.gets++; s.gets >= 100 {
		return nil, errors.New("asked for ever")
	}
	return nil, objstore.ErrNotExist
}

// A state that is listed and missing is asked for some times, with pauses, and then named.
func TestNewest_isNotAskedForForEver(t *testing.T) {
	l := newLog(t)
	w, err := l.Claim(t.Context(), claim())
	check(t, err)
	if _, err := l.Save(t.Context(), w.State()); err != nil {
		t.Fatal(err)
	}
	l.Store = &stateless{Store: l.Store}
	for name, ask := range map[string]func() error{
		"Newest": func() error { _, err := l.Newest(t.Context()); return err },
		"Open":   func() error { _, _, err := l.Open(t.Context()); return err },
		"Claim":  func() error { _, err := l.Claim(t.Context(), claim()); return err },
	} {
		if err := ask(); !errors.Is(err, corrupt.Err) || !strings.Contains(err.Error(), "listed") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
