package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestRun_makesEachMeasurement(t *testing.T) {
	for _, m := range measurements() {
		t.Run(m.name, func(t *testing.T) {
			var out bytes.Buffer
			dir := t.TempDir()
			if err := run(&out, dir, 10_000, []string{m.name}); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if !strings.Contains(text, m.name) || strings.Count(text, "\n|") < 3 ||
				strings.Contains(text, "%!") {
				t.Errorf("it prints\n%s", text)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("it leaves %v (%v)", left, err)
			}
		})
	}
}

func TestRun_refusesWhatItDoesNotKnow(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, t.TempDir(), 1, []string{"nothing"}); err == nil ||
		!strings.Contains(err.Error(), `no measurement "nothing"`) {
		t.Errorf("the error is %v", err)
	}
	if err := run(&out, t.TempDir(), 0, nil); err == nil {
		t.Error("a scale of 0 is no error")
	}
}
