package vfs

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

func TestGroupMemory_isTheLowestLimitAbove(t *testing.T) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a/memory.max", "3000\n")
	write("a/b/memory.max", "max\n")
	write("a/b/c/memory.max", "4000\n")
	write("memory/memory.limit_in_bytes", "9223372036854771712\n")
	write("memory/x/memory.limit_in_bytes", "500\n")
	for line, want := range map[string]uint64{
		"0::/":                        math.MaxUint64,
		"0::/a/b/c":                   3000,
		"0::/a/b":                     3000,
		"0::/../../a":                 3000,
		"0::/docker/gone/a":           math.MaxUint64,
		"7:memory:/x/gone":            500,
		"7:memory:/":                  9223372036854771712,
		"7:cpu,cpuacct:/x":            math.MaxUint64,
		"1:name=systemd:/a":           math.MaxUint64,
		"":                            math.MaxUint64,
		"no colon":                    math.MaxUint64,
		"0::/a/b:with colon in its c": 3000,
	} {
		if got := groupMemory(root, line); got != want {
			t.Errorf("%q: %d, want %d", line, got, want)
		}
	}
}

func TestMemorySize_isKnown(t *testing.T) {
	if got := MemorySize(); got < 16<<20 {
		t.Errorf("the process may use %d bytes", got)
	}
}

func BenchmarkMemorySize(b *testing.B) {
	for b.Loop() {
		MemorySize()
	}
}
