package released_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/released"
)

const tests = `package sample

import ("os"; "testing")

func TestPasses(t *testing.T) { t.Run("nested", func(*testing.T) {}) }
func TestFails(t *testing.T) { t.Run("nested", func(t *testing.T) { t.Error("why") }) }
func TestSkips(t *testing.T) { t.Skip() }
func TestEnds(t *testing.T) { os.Exit(1) }
func TestNeverRuns(t *testing.T) {}
`

func TestTest_tellsHowEachTestEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles a program")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module sample\n", "sample_test.go": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := released.Test(t, dir)
	want := map[string]string{
		"TestPasses": "pass", "TestPasses/nested": "pass",
		"TestFails": "fail", "TestFails/nested": "fail",
		"TestSkips": "skip", "TestEnds": "fail",
	}
	if !maps.Equal(r.Outcome, want) {
		t.Errorf("the outcomes are %v, want %v", r.Outcome, want)
	}
	if r.Passed() != 2 {
		t.Errorf("%d tests passed, want 2", r.Passed())
	}
	if !strings.Contains(r.Output["TestFails"], "why") {
		t.Errorf("the output of TestFails is %q", r.Output["TestFails"])
	}
}
