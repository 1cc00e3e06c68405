package vfs

import "testing"

// looks returns how many of n reads of values of so many bytes, one after the other, are looked at,
// all of which are in memory.
func looks(s *Sampler, n int, step uint64) (looks int) {
	for i := range uint64(n) {
		if s.Due(48 + i*step) {
			looks++
			s.note(true)
		}
	}
	return looks
}

func TestSampler_looksAtFewWarmValues(t *testing.T) {
	for _, step := range []uint64{1, 100, 1024, 4096, 5000, 1 << 20} {
		var s Sampler
		const n, want = 32_000, 32_000 >> samplingBits
		if got := looks(&s, n, step); got < want/2 || got > want*2 {
			t.Errorf("%d of %d reads of values %d bytes apart, want about %d", got, n, step, want)
		}
	}
}

func TestSampler_leavesAValueAloneThatIsReadAgain(t *testing.T) {
	for at := range uint64(100) {
		var s Sampler
		if n := looks(&s, 1000, 0); n > 1 {
			t.Errorf("the value at %d was looked at %d times", at, n)
		}
	}
}

func TestSampler_looksAtAllValuesAfterAColdOne(t *testing.T) {
	var s Sampler
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

func TestSampler_looksAtTheFirstReadsOfASuspectMap(t *testing.T) {
	var s Sampler
	s.Suspect()
	if got := looks(&s, suspectReads, 5000); got != suspectReads {
		t.Errorf("%d of %d reads", got, suspectReads)
	}
	if got := looks(&s, 1000, 5000); got > 30 {
		t.Errorf("%d of 1000 reads after that", got)
	}
}

func TestSampler_takesMemoryForWarm(t *testing.T) {
	var s Sampler
	s.note(false)
	for range alertReads {
		s.Warm(make([]byte, 12<<10))
	}
	if s.alert.Load() > 0 {
		t.Error("what is in memory counts as cold")
	}
}
