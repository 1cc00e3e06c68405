package batch

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// read returns the entries that Read finds in payloads.
func read(payloads [][]byte) (all []entry, err error) {
	for _, p := range payloads {
		err = errors.Join(err, Read(p, func(key []byte, e keyspace.Entry) error {
			all = append(all, entry{e.Kind, e.Until, string(key), string(e.Value)})
			return nil
		}))
	}
	return all, err
}

func TestRead_findsWhatIsPending(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	a := NewArena(headroom)
	for range 20 {
		a.Begin()
		first, second := randomEntries(r, r.IntN(30)), randomEntries(r, r.IntN(30))
		appendAll(a, first)
		got, err := read(a.Pending())
		if err != nil || !slices.Equal(got, first) {
			t.Fatalf("%d entries and %v, want %d", len(got), err, len(first))
		}
		a.Take(0)
		appendAll(a, second)
		got, err = read(a.Pending())
		if err != nil || !slices.Equal(got, second) {
			t.Fatalf("%d entries and %v after Take, want %d", len(got), err, len(second))
		}
		a.Commit()
	}
}

func TestRead_stopsAtAnError(t *testing.T) {
	a := NewArena(headroom)
	a.Begin()
	appendAll(a, []entry{put("a", "1"), tombstone("b"), deleteRange("c", "d")})
	payload := a.Pending()[0]
	stop, calls := errors.New("stop"), 0
	err := Read(payload, func([]byte, keyspace.Entry) error {
		calls++
		return stop
	})
	if err != stop || calls != 1 {
		t.Errorf("%d calls and error %v, want one call and its error", calls, err)
	}
	if _, err := read([][]byte{payload[:len(payload)-1]}); !errors.Is(err, corrupt.Err) {
		t.Errorf("a payload that is cut off gives %v", err)
	}
}
