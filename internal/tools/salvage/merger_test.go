package salvage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// listSource is entries in memory.
type listSource struct {
	keys []string // ascending
	age  int      // which is the value of all
	at   int
}

func (s *listSource) next() bool  { s.at++; return s.at <= len(s.keys) }
func (s *listSource) key() []byte { return []byte(s.keys[s.at-1]) }

func (s *listSource) entry() (keyspace.Entry, string) {
	return keyspace.Entry{Kind: keyspace.KindPut, Value: []byte{byte(s.age)}}, ""
}

func TestMerger_takesTheNewestThatIsNotDeleted(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 500 {
		const keys = 20
		var layers []layer
		for age := range rng.IntN(6) {
			s := &listSource{age: age}
			for k := range keys {
				if rng.IntN(3) == 0 {
					s.keys = append(s.keys, fmt.Sprintf("%02d", k))
				}
			}
			l := layer{source: s}
			if rng.IntN(3) == 0 {
				from := rng.IntN(keys)
				l.deleted = l.deleted.With(keyspace.Span{
					Start: fmt.Appendf(nil, "%02d", from), End: fmt.Appendf(nil, "%02d", from+rng.IntN(9)),
				})
			}
			layers = append(layers, l)
		}
		want := map[string]byte{}
		for k := range keys {
			key := fmt.Sprintf("%02d", k)
			for age, l := range layers {
				if slices.Contains(l.source.(*listSource).keys, key) {
					want[key] = byte(age)
					break
				}
				if l.deleted.Contains([]byte(key)) {
					break
				}
			}
		}
		m, last := newMerger(layers), ""
		for f, ok := m.next(); ok; f, ok = m.next() {
			key := string(f.key)
			if age, found := want[key]; !found || f.entry.Value[0] != age || key <= last {
				t.Fatalf("key %s after %s of layer %d, want %d, %v", key, last, f.entry.Value[0], age, found)
			}
			delete(want, key)
			last = key
		}
		if len(want) > 0 {
			t.Fatalf("%v were not found", want)
		}
	}
}
