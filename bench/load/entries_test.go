package load

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/bench/suite"
)

// recorder returns a run that only records.
func recorder(out func(values []float64)) *run {
	return &run{out: func(_ suite.At, values ...float64) { out(values) }}
}

func newSet(t testing.TB, n, size int, seed uint64) *entrySet {
	t.Helper()
	s, err := newEntrySet(n, size, 1<<20, seed)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newTestScript(t testing.TB, n int) script {
	t.Helper()
	s, err := newScript(n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestKeys_haveTheStudysForm(t *testing.T) {
	s := newSet(t, 10, 16<<10, 1)
	for _, number := range []uint32{0, 7, 1234567890, 4294967295} {
		key := make([]byte, keyBytes)
		s.putKey(key, number)
		if want := fmt.Sprintf("vsz=%05d-k=%010d", 16<<10, number); string(key) != want {
			t.Errorf("key %s instead of %s", key, want)
		}
	}
	if keyBytes != 22 {
		t.Errorf("keys of %d bytes", keyBytes)
	}
}

func TestEntrySet_givesEachWriteAValueOfItsOwn(t *testing.T) {
	s := newSet(t, 3, 128, 1)
	seen := make(map[string]bool)
	for range 20 {
		for number := range uint32(3) {
			seen[string(s.value(s.put(number)))] = true
			if last, ok := s.last(number); !ok || last == 0 {
				t.Fatal("a written number has no value")
			}
		}
	}
	if len(seen) != 60 {
		t.Errorf("%d values of 60 writes", len(seen))
	}
	for range 300 { // more than the states can count
		if at := s.put(1); lastBytes(s.value(at)) != must(s.last(1)) {
			t.Fatal("last is not the end of the value that was put")
		}
	}
}

// must returns the number of a pair whose flag is set, else 0.
func must(last uint32, present bool) uint32 {
	if !present {
		return 0
	}
	return last
}

func TestEntrySet_countsWhatIsPresent(t *testing.T) {
	s := newSet(t, 100, 128, 1)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	model := make(map[uint32]bool)
	for range 2000 {
		number := random.Uint32N(100)
		if random.IntN(2) == 0 {
			s.put(number)
			model[number] = true
		} else {
			s.remove(number)
			delete(model, number)
		}
		if _, present := s.last(number); present != model[number] || s.present != len(model) {
			t.Fatalf("number %d: %t; %d present of %d", number, present, s.present, len(model))
		}
	}
	if s.bytes() != len(model)*150 {
		t.Errorf("%d bytes for %d entries", s.bytes(), len(model))
	}
}

func TestDraws_leaveTheSameShareAbsent(t *testing.T) {
	const n = 50_000
	s, script := newSet(t, n, 128, 1), newTestScript(t, n)
	random := rand.New(rand.NewPCG(1, 2))
	for round := range 4 {
		script.drawWrites(s, random, n, deleting(round > 0))
		if share := float64(s.present) / n; share < 0.62 || share > 0.645 {
			t.Errorf("a share of %v is present after round %d", share, round)
		}
	}
}

func TestDraws_dependOnTheSeedAlone(t *testing.T) {
	draw := func(seed uint64) []byte {
		s, script := newSet(t, 500, 128, seed), newTestScript(t, 500)
		r := &run{set: s, script: script, plan: plan{size: 128}}
		r.job.Seed = seed
		w := r.newWrites("load", 500, putsOnly)
		var all []byte
		for _, p := range script.appendPairs(nil, s, 0, w.part) {
			all = append(append(all, p.Key...), p.Value...)
		}
		return all
	}
	a, b, c := draw(1), draw(1), draw(2)
	if !bytes.Equal(a, b) || bytes.Equal(a, c) || len(a) != 500*150 {
		t.Errorf("equal for one seed: %t, for two: %t", bytes.Equal(a, b), bytes.Equal(a, c))
	}
}

func TestDrawGets_tellWhatTheSetHas(t *testing.T) {
	s, script := newSet(t, 200, 128, 1), newTestScript(t, 400)
	random := rand.New(rand.NewPCG(3, 4))
	script.drawWrites(s, random, 200, putsOnly)
	script.drawGets(s, random, 400)
	var hits int
	for i := range 400 {
		key, last, present := script.line(i)
		var number uint32
		if _, err := fmt.Sscanf(string(key), "vsz=00128-k=%d", &number); err != nil {
			t.Fatal(err)
		}
		want, ok := s.last(number)
		if ok != present || want != last {
			t.Errorf("key %s: %d, %t instead of %d, %t", key, last, present, want, ok)
		}
		if present {
			hits++
		}
	}
	if hits < 200 || hits > 300 {
		t.Errorf("%d hits of 400 gets", hits)
	}
}

func TestSizeOfFiles_countsThoseOfThePattern(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.vlog", "a.sst", "sub/b.vlog"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 100), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if size, err := sizeOfFiles(dir, "*.vlog"); err != nil || size != 200 {
		t.Errorf("%d bytes: %v", size, err)
	}
	if _, err := sizeOfFiles(dir, "["); err == nil {
		t.Error("a malformed pattern is no error")
	}
}
