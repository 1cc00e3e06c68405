package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestMeasure_findsThatRecordsShrink(t *testing.T) {
	for _, k := range kinds() {
		if k.name == "source files, Go" || k.name == "declarations, Go" ||
			k.name == "comments of Go, English" || k.name == "packages, Debian" {
			continue // they depend on the machine
		}
		values, err := k.load()
		if err != nil {
			t.Fatal(err)
		}
		r, err := measure(values[:400])
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		if noise := k.name == "random bytes"; (r.pattern >= r.raw) != noise {
			t.Errorf("%s: %d bytes become %d", k.name, r.raw, r.pattern)
		}
	}
}

func TestDivide_takesEachRecordOnce(t *testing.T) {
	values := make([][]byte, 5000)
	for i := range values {
		values[i] = bytes.Repeat([]byte{'x'}, 1000)
	}
	train, others := divide(values)
	if n := len(train) + len(others); n != len(values) {
		t.Errorf("%d records of %d", n, len(values))
	}
	if size := 1000 * len(train); size > trainBytes || size < trainBytes/2 {
		t.Errorf("%d bytes to train with, want up to %d", size, trainBytes)
	}
}

func TestRun_printsRowsOfTheTable(t *testing.T) {
	var out strings.Builder
	if err := run(&out, "random bytes"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || strings.Count(lines[0], "|") != strings.Count(lines[2], "|") {
		t.Errorf("the table is\n%s", out.String())
	}
}
