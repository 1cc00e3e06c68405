package valuelog

import "testing"

// looks returns how many of n reads of values of so many bytes, one after the other, are looked at,
// all of which are in memory.
func looks(s *sampler, n int, step uint64) (looks int) {
	for i := range uint64(n) {
		if s.due(48 + i*step) {
			looks++
			s.note(true)
		}
	}
	return looks
}

func TestSampler_looksAtFewWarmValues(t *testing.T) {
	for _, step := range []uint64{1, 100, 1024, 4096, 5000, 1 << 20} {
		var s sampler
		const n, want = 32_000, 32_000 >> samplingBits
		if got := looks(&s, n, step); got < want/2 || got > want*2 {
			t.Errorf("%d of %d reads of values %d bytes apart, want about %d", got, n, step, want)
		}
	}
}

func TestSampler_leavesAValueAloneThatIsReadAgain(t *testing.T) {
	for at := range uint64(100) {
		var s sampler
		if n := looks(&s, 1000, 0); n > 1 {
			t.Errorf("the value at %d was looked at %d times", at, n)
		}
	}
}

func TestSampler_looksAtAllValuesAfterAColdOne(t *testing.T) {
	var s sampler
	s.note(false)
	for range 10 {
		if got := looks(&s, alertReads-1, 5000); got != alertReads-1 {
			t.Fatalf("%d of %d reads", got, alertReads-1)
		}
		s.note(false)
	}
	looks(&s, alertReads, 5000)
	if got := looks(&s, 1000, 5000); got > 200 {
		t.Errorf("%d of 1000 reads, long after the last cold one", got)
	}
}

func TestRead_looksAtResidency(t *testing.T) {
	fs, path := inMemory(t)
	values := someValues()
	ps, c := writeValues(t, fs, path, values)
	file := New(c)
	check(t, file.Open())
	s := &file.reader.Load().sampler
	s.alert.Store(alertReads)
	wantValues(t, file, ps, values)
	if s.alert.Load() > 0 {
		t.Error("what is in memory counts as cold")
	}
}
