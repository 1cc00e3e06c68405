package machine

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

func TestSizeOf_addsUpAllFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "sub/b"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 5000), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	size, err := SizeOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	if size.Apparent != 10_000 {
		t.Errorf("apparent size %d", size.Apparent)
	}
}

func TestNow_countsWhatTheProcessUses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system does not tell")
	}
	before, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	const size = 32 << 20
	b, err := Anonymous(size)
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < 20*time.Millisecond; {
		for i := 0; i < len(b); i += 512 {
			b[i]++
		}
	}
	after, err := Now()
	if err != nil {
		t.Fatal(err)
	}
	if grown := after.Anon - before.Anon; grown < size/2 {
		t.Errorf("%d bytes more in memory after writing to %d", grown, size)
	}
	if after.Peak < after.Anon || after.CPU <= before.CPU {
		t.Errorf("%+v after %+v", after, before)
	}
	runtime.KeepAlive(b)
}

func TestDescribe_namesTheSystem(t *testing.T) {
	d := Describe()
	if d.CPUs == 0 || d.System == "" || d.Go == "" {
		t.Errorf("%+v", d)
	}
	if fs := FileSystem(t.TempDir()); runtime.GOOS == "linux" && (d.Memory == 0 || fs == "") {
		t.Errorf("%+v, file system %q", d, fs)
	}
}

func TestCapMemory_canBeLiftedAndSetAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := DropCache(dir); err != nil {
		t.Error(err)
	}
	lift, err := CapMemory(64 << 20)
	if errors.Is(err, ErrNoCap) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := CapMemory(64 << 20); err == nil {
		t.Error("two caps at once")
	}
	if err := lift(); err != nil {
		t.Fatal(err)
	}
	if lift, err = CapMemory(128 << 20); err != nil {
		t.Fatal(err)
	}
	if err := lift(); err != nil {
		t.Error(err)
	}
}
