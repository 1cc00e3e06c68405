package retry

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stoatdb/stoat/internal/testing/faultstore"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/remote/objstore"
)

// TestPersistent_knowsWhatItHasCreated loses answers of a creation.
func TestPersistent_knowsWhatItHasCreated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			there string // what has the name; "": nothing
			fates []faultstore.Fate
			want  error
		}{
			{"", []faultstore.Fate{faultstore.AnswerLost}, nil},
			{"", []faultstore.Fate{faultstore.Failed, faultstore.Unavailable}, nil},
			{"other", []faultstore.Fate{faultstore.AnswerLost}, objstore.ErrExists},
			{"mine", nil, objstore.ErrExists},
			{"mine", []faultstore.Fate{faultstore.Failed}, objstore.ErrExists},
		} {
			under, tries := memstore.New(), 0
			if c.there != "" {
				if err := under.Create(t.Context(), "a", []byte(c.there)); err != nil {
					t.Fatal(err)
				}
			}
			client := faultstore.NewServer(under).Client(func(r faultstore.Request) faultstore.Fate {
				if tries++; r.Op == faultstore.Create && tries <= len(c.fates) {
					return c.fates[tries-1]
				}
				return faultstore.Answered
			})
			err := Persistent(client).Create(t.Context(), "a", []byte("mine"))
			if !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
		}
	})
}

// TestPersistent_doesNotForgetADoubt has a creation whose outcome nobody knows, and which fails
// afterwards.
func TestPersistent_doesNotForgetADoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, tries := faultstore.NewServer(memstore.New()), 0
		client := server.Client(func(faultstore.Request) faultstore.Fate {
			if tries++; tries == 1 {
				return faultstore.Late
			}
			return faultstore.Failed
		})
		err := Persistent(client).Create(t.Context(), "a", []byte("mine"))
		if !errors.Is(err, objstore.ErrUnknown) || tries != Tries {
			t.Errorf("after %d tries: %v", tries, err)
		}
	})
}

// TestPersistent_takesAnAnswer makes requests that would fail again.
func TestPersistent_takesAnAnswer(t *testing.T) {
	client := faultstore.NewServer(memstore.New()).Client(nil)
	p := Persistent(client)
	_, err := p.Get(t.Context(), "a", 0, 1)
	if !errors.Is(err, objstore.ErrNotExist) {
		t.Error(err)
	}
	if err := p.Put(t.Context(), "/", strings.NewReader(""), 0); !errors.Is(err, objstore.ErrName) {
		t.Error(err)
	}
	if n := client.Count(); n != 2 {
		t.Errorf("%d requests were made", n)
	}
}
