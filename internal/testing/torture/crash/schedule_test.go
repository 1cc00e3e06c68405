package crash

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

// made runs some operations, every second one a read, and returns the crashes that the schedule of
// a sample makes.
func made(t *testing.T, sample Sample, operations int) []string {
	t.Helper()
	var names []string
	s := NewSchedule("puts", sample, nil)
	s.crash = func(kept Kept, _ *rand.Rand) error {
		names = append(names, kept.String())
		return nil
	}
	for range operations {
		for _, kind := range []faultfs.Kind{faultfs.ReadAt, faultfs.WriteAt} {
			if err := s.Before(faultfs.Op{Kind: kind}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if s.Err() != nil || s.Failed() != "" {
		t.Errorf("%q has failed: %v", s.Failed(), s.Err())
	}
	if s.Operations() != operations || s.Points() != len(names) {
		t.Errorf("%d operations and %d points, want %d and %d", s.Operations(), s.Points(),
			operations, len(names))
	}
	return names
}

func TestSchedule_makesAllCrashesOfAFullSample(t *testing.T) {
	got := made(t, Sample{Seed: 1, Kinds: 4, Share: 1}, 2)
	want := []string{"none", "all", "random-2", "random-3", "none", "all", "random-2", "random-3"}
	if !slices.Equal(got, want) {
		t.Errorf("crashes that keep %q, want %q", got, want)
	}
}

func TestSchedule_makesNoneOfTheZeroSample(t *testing.T) {
	if got := made(t, Sample{}, 10); len(got) > 0 {
		t.Errorf("crashes that keep %q, want none at all", got)
	}
}

func TestSchedule_makesAboutTheShareOfASample(t *testing.T) {
	sample := Sample{Seed: 1, Kinds: 3, Share: 0.1}
	got := made(t, sample, 1000)
	if len(got) < 200 || len(got) > 400 {
		t.Errorf("%d crashes of 3000, want about a tenth", len(got))
	}
	if again := made(t, sample, 1000); !slices.Equal(got, again) {
		t.Errorf("the same seed makes other crashes")
	}
	sample.Seed++
	if others := made(t, sample, 1000); slices.Equal(got, others) {
		t.Errorf("another seed makes the same crashes")
	}
}

func TestSchedule_makesTheOneThatIsNamed(t *testing.T) {
	got := made(t, Sample{Seed: 1, Kinds: 8, Only: "puts/3/random-7"}, 9)
	if !slices.Equal(got, []string{"random-7"}) {
		t.Errorf("crashes that keep %q, want one of random-7", got)
	}
}

func TestSchedule_drawsTheSameForACrashAlone(t *testing.T) {
	draws := func(sample Sample) map[Kept]uint64 {
		got := map[Kept]uint64{}
		NewSchedule("puts", sample, func(kept Kept, rng *rand.Rand) error {
			got[kept] = rng.Uint64()
			return nil
		}).Now()
		return got
	}
	all := draws(Sample{Seed: 5, Kinds: 4, Share: 1})
	alone := draws(Sample{Seed: 5, Kinds: 4, Only: "puts/0/random-3"})
	if len(alone) != 1 || alone[3] != all[3] || all[3] == all[2] {
		t.Errorf("alone %v, among others %v", alone, all)
	}
}

func TestSchedule_endsWithTheFirstFailure(t *testing.T) {
	errLost := errors.New("lost")
	s := NewSchedule("puts", Sample{Kinds: 3, Share: 1}, nil)
	s.crash = func(kept Kept, _ *rand.Rand) error {
		s.Count()
		if s.operations == 1 && kept == All {
			return errLost
		}
		return nil
	}
	for range 4 {
		s.Now()
	}
	if s.Failed() != "puts/1/all" || !errors.Is(s.Err(), errLost) {
		t.Errorf("%q has failed: %v", s.Failed(), s.Err())
	}
	if s.Operations() != 4 || s.Points() != 2*5 {
		t.Errorf("%d operations and %d points, want 4 and 10", s.Operations(), s.Points())
	}
}
