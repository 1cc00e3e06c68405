package manifest

import (
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// withoutCounts returns v as EditTo compares it.
func withoutCounts(v *Version) *Version {
	w := *v
	w.LogNumber, w.NextNumber = 0, 0
	return &w
}

// TestEditTo_leadsFromAnyVersionToAnyLater makes random histories, and goes from each of some
// versions to a later one in one step.
func TestEditTo_leadsFromAnyVersionToAnyLater(t *testing.T) {
	rng := newRand(t)
	for range 20 {
		v, g := &Version{}, &generator{rng: rng, next: 1}
		all := []*Version{v}
		for range 60 {
			v = applied(t, v, g.change(v).edit)
			all = append(all, v)
		}
		for range 60 {
			from := rng.IntN(len(all))
			to := from + rng.IntN(len(all)-from)
			wantEditTo(t, all[from], all[to])
		}
	}
}

// wantEditTo wants the edit to make one version of the other, also after both were stored.
func wantEditTo(t *testing.T, from, to *Version) {
	t.Helper()
	stored, err := decodeVersion(appendVersion(nil, from))
	check(t, err)
	for _, v := range []*Version{from, stored} {
		e := v.EditTo(to)
		if e == nil {
			if !withoutCounts(v).Equal(withoutCounts(to)) {
				t.Fatalf("no edit leads from %s to %s", text(v), text(to))
			}
			continue
		}
		decoded, err := decodeEdit(appendEdit(nil, e))
		check(t, err)
		if got := applied(t, v, decoded); !got.Equal(to) {
			t.Fatalf("from %s an edit leads to %s, want %s", text(v), text(got), text(to))
		}
	}
}

func TestEditTo_putsRunsBetweenOthers(t *testing.T) {
	run := func(n uint64) Run {
		return Run{Deleted: keyspace.Spans{{Start: []byte{byte(n)}, End: []byte{byte(n), 1}}}}
	}
	old := &Version{Young: []Run{run(9), run(1)}}
	next := &Version{Young: []Run{run(9), run(5), run(1)}, LastCommit: 3}
	wantEditTo(t, old, next)
	wantEditTo(t, &Version{}, next)
	same := &Version{Young: slices.Clone(next.Young), LastCommit: 3, LogNumber: 7}
	if e := next.EditTo(same); e != nil {
		t.Errorf("the edit between two versions with the same files is %+v", e)
	}
}

func TestApply_refusesDropsThatDoNotFit(t *testing.T) {
	v := &Version{DropEpoch: 3}
	for _, e := range []*Edit{
		{DropEpoch: 3}, {Dropped: []Drop{{1, 1, 1}}}, {DropEpoch: 4, Drop: []uint64{7}},
	} {
		if _, err := v.Apply(e); err == nil {
			t.Errorf("the edit %+v applies", e)
		}
	}
}
