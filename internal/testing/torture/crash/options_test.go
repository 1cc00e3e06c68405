package crash

import (
	"flag"
	"testing"
)

// flags are unused: the tests of this package crash nothing.
var flags = Flags(70, 7)

func TestFlags_haveTheDefaults(t *testing.T) {
	want := map[string]string{"crash.points": "70", "crash.seed": "1", "crash.only": ""}
	for name, value := range want {
		if f := flag.Lookup(name); f == nil || f.DefValue != value {
			t.Errorf("flag -%s is %+v, want the default %q", name, f, value)
		}
	}
	if flags.points == 70 && (flags.Points(false) != 70 || flags.Points(true) != 10) {
		t.Errorf("%d points, %d when short, want 70 and 10", flags.Points(false), flags.Points(true))
	}
}

func TestChosen_isTheWorkloadOfTheOneCrash(t *testing.T) {
	for _, test := range []struct {
		only, workload string
		want           bool
	}{
		{"", "puts", true},
		{"puts/3/none", "puts", true},
		{"puts/3/none", "puts-unsynced", false},
		{"puts-unsynced/3/none", "puts", false},
	} {
		o := Options{Only: test.only}
		if got := o.Chosen(test.workload); got != test.want {
			t.Errorf("with %q, %q is chosen: %v, want %v", test.only, test.workload, got, test.want)
		}
	}
}

func TestSample_hasAsManyCrashesAsWanted(t *testing.T) {
	for _, test := range []struct {
		points, operations int
		only               string
		kinds              int
		share              float64
	}{
		{points: 30, operations: 100, kinds: 3, share: 0.1},
		{points: 500, operations: 100, kinds: 5, share: 1},
		{points: 30, operations: 100, only: "puts/12/all", kinds: 3, share: 0.1},
		{points: 30, operations: 100, only: "puts/12/random-7", kinds: 8, share: 0.1},
	} {
		o := Options{Seed: 9, Only: test.only}
		want := Sample{Seed: 9, Kinds: test.kinds, Share: test.share, Only: test.only}
		if got := o.Sample(test.points, test.operations); got != want {
			t.Errorf("%d points at %d operations, only %q: %+v, want %+v", test.points,
				test.operations, test.only, got, want)
		}
	}
}

func TestAgain_runsOneTestAndNoOther(t *testing.T) {
	o := Options{Seed: 12}
	want := "go test ./here -run '^TestCrash_recovers$/^puts$' -crash.seed 12"
	if got := o.Again("./here", "TestCrash_recovers/puts"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
