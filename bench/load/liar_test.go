package load

import (
	"bytes"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/bench/engine"
)

// mapStore keeps pairs in memory, also when it is closed and opened again, and tells one lie.
type mapStore struct {
	engine.Store // nil; the suite must not use the rest
	lie          string

	mu    sync.Mutex
	pairs map[string][]byte
}

func (s *mapStore) Write(pairs []engine.Pair) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := maps.Clone(s.pairs)
	for _, p := range pairs {
		key := string(p.Key)
		if p.Value != nil {
			s.pairs[key] = bytes.Clone(p.Value)
		} else if s.lie != "keep what is deleted" {
			delete(s.pairs, key)
		}
	}
	for key, value := range before {
		if _, ok := s.pairs[key]; ok && s.lie == "keep the old value" {
			s.pairs[key] = value
		}
	}
	if s.lie == "lose one" && len(pairs) > 0 {
		delete(s.pairs, string(pairs[0].Key))
	}
	return nil
}

func (s *mapStore) Copy(key, buf []byte) (value []byte, found bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, found := s.pairs[string(key)]
	value = append(buf[:0], stored...)
	switch {
	case s.lie == "find what is absent" && !found:
		return buf[:cap(buf)], true, nil
	case s.lie == "return a short value" && found:
		return value[1:], true, nil
	case s.lie == "return a wrong value" && found:
		value[len(value)-1] ^= 1
	}
	return value, found, nil
}

func (s *mapStore) CopyAll(n int, part engine.Part) (w engine.Walk, err error) {
	for key, value := range s.pairs {
		if w.Entries == n {
			break
		}
		w.Entries++
		w.Bytes += len(key)
		if part == engine.KeysAndValues {
			w.Bytes += len(value)
		}
	}
	switch {
	case s.lie == "skip an entry":
		w.Entries--
	case s.lie == "skip an entry's key" && part == engine.KeysOnly:
		w.Bytes--
	}
	return w, nil
}

func (*mapStore) Close() error { return nil }

func honest() engine.Engine { return liar("") }

func liar(lie string) engine.Engine {
	s := &mapStore{lie: lie, pairs: make(map[string][]byte)}
	return engine.Engine{
		About:      engine.About{Name: "map"},
		ValueFiles: "*.values",
		Open:       func(string, engine.Options) (engine.Store, error) { return s, nil },
	}
}

func TestJob_noticesWrongAnswers(t *testing.T) {
	v := valueSizes()[0]
	for _, c := range []struct {
		lie  string
		rows string
		want string
	}{
		{"lose one", "get_1", "found is false instead of true"},
		{"lose one", "get_128", "found is false instead of true"},
		{"lose one", "iterate", "entries of"},
		{"find what is absent", "get_1", "found is true instead of false"},
		{"find what is absent", "get_128", "found is true instead of false"},
		{"return a short value", "get_1", "a value of 127 bytes instead of 128"},
		{"return a wrong value", "get_1", "not the last one written"},
		{"return a wrong value", "churn_get", "not the last one written"},
		{"keep the old value", "get_1", "not the last one written"},
		{"keep the old value", "churn_get", "not the last one written"},
		{"keep what is deleted", "churn_get", "found is true instead of false"},
		{"keep what is deleted", "churn_iterate", "entries of"},
		{"skip an entry", "iterate", "entries of"},
		{"skip an entry", "iterate_keys", "entries of"},
		{"skip an entry's key", "iterate_keys", "entries of"},
	} {
		job, p := tinyJob(t, v), tiny(v)
		job.Rows, p.calls, p.reads.parallelGets = []string{c.rows}, 500, 50
		_, err := do(t, job, p, liar(c.lie))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: the error is %v", c.lie, c.rows, err)
		}
	}
}
