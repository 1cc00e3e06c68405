package torture

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/model"
)

var (
	metaHistories = flag.Int("meta.histories", 2,
		"number of random histories that are played under all settings")
	metaOps  = flag.Int("meta.ops", 300, "number of actions in each of them")
	metaSeed = flag.Uint64("meta.seed", 0, "seed of the first of them; 0 draws one")
)

// planFolder holds plans that once revealed a bug, or might: one per file, in lines as from
// [action.text]. A line "# setting: eager" adds a setting to perform it under.
const planFolder = "testdata/histories"

const settingLine = "# setting: "

// TestMetamorphic performs random plans under many settings. Under all of them, the results must be
// the same to the byte, and equal those of the model.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	seed, histories := *metaSeed, *metaHistories
	if seed == 0 {
		seed = rand.Uint64()>>16 + 1
	}
	compared := 0
	for i := range uint64(histories) {
		p := drawPlan(seed+i, *metaOps)
		among := slices.Concat(settings, []setting{drawSetting(seed + i), drawSetting(^(seed + i))})
		bad, difference := compareAll(t, p, among)
		compared += len(p) * len(among)
		if difference == "" {
			continue
		}
		small := shrink(p, func(p plan) bool { return differs(t, bad, p) })
		name := filepath.Join(planFolder, fmt.Sprintf("found-%d-%s.txt", seed+i, bad.name))
		ok(t, os.WriteFile(name, []byte(settingLine+bad.name+"\n"+small.text()), 0o600))
		t.Fatalf("again with go test ./internal/testing/torture -run TestMetamorphic -meta.seed %d "+
			"-meta.ops %d -meta.histories 1\nsetting %s: %s\nshrunk into %s:\n%s",
			seed+i, *metaOps, bad.name, difference, name, small.text())
	}
	t.Logf("trust: %d histories", histories)
	t.Logf("trust: %d operations compared", compared)
}

// TestMetamorphic_storedPlans performs the plans in planFolder.
func TestMetamorphic_storedPlans(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob(filepath.Join(planFolder, "*.txt"))
	ok(t, err)
	if len(names) == 0 {
		t.Fatalf("no plans in %s", planFolder)
	}
	compared := 0
	for _, name := range names {
		text, err := os.ReadFile(name)
		ok(t, err)
		p, err := parsePlan(string(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		among := settings
		for line := range strings.Lines(string(text)) {
			if s, found := strings.CutPrefix(strings.TrimSpace(line), settingLine); found {
				named, err := settingOf(s)
				ok(t, err)
				among = slices.Concat(among, []setting{named})
			}
		}
		if bad, difference := compareAll(t, p, among); difference != "" {
			t.Errorf("%s: setting %s: %s", name, bad.name, difference)
		}
		compared += len(p) * len(among)
	}
	t.Logf("trust: %d histories", len(names))
	t.Logf("trust: %d operations compared", compared)
}

// compareAll performs a plan under all settings. It returns the first one that differs from the
// model, and how, or an empty text.
func compareAll(t testing.TB, p plan, among []setting) (setting, string) {
	t.Helper()
	want := expect(p)
	for _, s := range among {
		if d := compareOne(t, p, s, want); d != "" {
			return s, d
		}
	}
	return setting{}, ""
}

// compareOne performs a plan under one setting and returns how it differs from the model, or an
// empty text.
func compareOne(t testing.TB, p plan, s setting, want []string) string {
	t.Helper()
	clock := model.NewClock()
	got, err := perform(s.database(t, clock), clock, p)
	return firstDifference(p, got, want, err)
}

// differs reports whether a plan differs from the model in one of a few attempts.
func differs(t testing.TB, s setting, p plan) bool {
	t.Helper()
	const attempts = 3 // background work varies
	want := expect(p)
	for range attempts {
		if compareOne(t, p, s, want) != "" {
			return true
		}
	}
	return false
}

// expect returns the model's transcript of a plan.
func expect(p plan) []string {
	clock := model.NewClock()
	lines, _ := perform(&modelStore{clock: clock}, clock, p) // the model has no errors
	return lines
}

// firstDifference describes where two transcripts of a plan differ, or the error that ended one.
func firstDifference(p plan, got, want []string, err error) string {
	for i, line := range got {
		if i < len(want) && line == want[i] {
			continue
		}
		what := "what is seen in the end"
		if i < len(p) {
			what = fmt.Sprintf("action %d: %s", i, p[i].text())
		}
		return fmt.Sprintf("%s\n\tgot  %s\n\twant %s", what, line, want[min(i, len(want)-1)])
	}
	if err != nil {
		return err.Error()
	}
	if len(got) != len(want) {
		return fmt.Sprintf("%d lines, want %d", len(got), len(want))
	}
	return ""
}
