package main

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tally adds up what the tests log. Each noun is a row, in the order of its first appearance.
type tally struct {
	rows []row
}

// row is one line of the table.
type row struct {
	noun  string
	count uint64
	took  time.Duration // of the steps that counted it
}

// add counts n more of a noun.
func (t *tally) add(noun string, n uint64, took time.Duration) {
	for i := range t.rows {
		if t.rows[i].noun == noun {
			t.rows[i].count += n
			t.rows[i].took += took
			return
		}
	}
	t.rows = append(t.rows, row{noun, n, took})
}

// addAll adds what one step counted.
func (t *tally) addAll(counted []row, took time.Duration) {
	for _, r := range counted {
		t.add(r.noun, r.count, took)
	}
}

// said matches the numbers that tests log: "trust: 12 kills", after the position in the source. It
// is immutable.
var said = regexp.MustCompile(`(?m)\btrust: (\d+) (\S.*?)\s*$`)

// counted returns what was tried according to the output of go test -v, each noun once.
func counted(output string) []row {
	var t tally
	for _, m := range said.FindAllStringSubmatch(output, -1) {
		if n, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			t.add(m[2], n, 0)
		}
	}
	return t.rows
}

// pass matches a test that has passed, or a part of one, in the output of go test -v. It is
// immutable.
var pass = regexp.MustCompile(`(?m)^\s*--- PASS: `)

// passed returns how many tests have passed, and parts of them.
func passed(output string) uint64 { return uint64(len(pass.FindAllStringIndex(output, -1))) }

// skips matches a test that is skipped, in the output of go test -v, and the line with the reason.
// It is immutable.
var skips = regexp.MustCompile(`(?sm)_test\.go:\d+: ([^\n]+)\n.*^--- SKIP: `)

// skipped returns why a test was skipped, or nothing.
func skipped(output string) string {
	if m := skips.FindStringSubmatch(output); m != nil {
		return m[1]
	}
	return ""
}

// executed matches the number of inputs in the progress of go's fuzzer: "execs: 20000 (1234/sec)".
// It is immutable.
var executed = regexp.MustCompile(`\bexecs: (\d+)\b`)

// fuzzed returns how many inputs a fuzz target was given: the last number is the sum.
func fuzzed(output string) uint64 {
	all := executed.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return 0
	}
	n, err := strconv.ParseUint(all[len(all)-1][1], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// targets returns the fuzz targets in the output of go test -list.
func targets(output string) (names []string) {
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "Fuzz") {
			names = append(names, line)
		}
	}
	return names
}
