package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestHistory_isThereAgain(t *testing.T) {
	name := filepath.Join(t.TempDir(), "new", "history")
	h, err := openHistory(name)
	ok(t, err)
	for _, line := range []string{"get a", "get a", " put secret", "", "get b"} {
		h.Add(line)
	}
	h.close()
	if h, err = openHistory(name); err != nil || h.Len() != 2 || h.At(0) != "get b" ||
		h.At(1) != "get a" {
		t.Errorf("%q (%v)", h.lines, err)
	}
	h.close()
	if info, err := os.Stat(name); runtime.GOOS != "windows" && (err != nil || info.Mode() != 0o600) {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
}

func TestHistory_isShortenedWhenItIsLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "history")
	var lines strings.Builder
	for i := range 3 * historyMax {
		fmt.Fprintf(&lines, "get %d\n", i)
	}
	ok(t, os.WriteFile(name, []byte(lines.String()), 0o644))
	h, err := openHistory(name)
	ok(t, err)
	h.close()
	data, err := os.ReadFile(name)
	ok(t, err)
	info, err := os.Stat(name)
	ok(t, err)
	if runtime.GOOS != "windows" && info.Mode() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	want := fmt.Sprintf("get %d", 3*historyMax-1)
	if n := strings.Count(string(data), "\n"); n != historyMax || h.Len() != n || h.At(0) != want {
		t.Errorf("%d lines in the file, %d in memory, the newest %q", n, h.Len(), h.At(0))
	}
}

func TestHistory_thatCannotBeKeptIsInMemory(t *testing.T) {
	h, err := openHistory(filepath.Join(t.TempDir(), "a\x00b"))
	if err == nil {
		t.Error("no error")
	}
	h.Add("get a")
	if h.Len() != 1 {
		t.Errorf("%d lines", h.Len())
	}
	h.close()
}
