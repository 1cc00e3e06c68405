package valuelog

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

// Values in the order of the file share pages: if the page that a value starts in told whether it
// is cold, scans would never ask for any.
func TestCold_looksAtTheEndOfAValue(t *testing.T) {
	const size = 1 << 20
	path := filepath.Join(t.TempDir(), "000007.log")
	check(t, os.WriteFile(path, nil, 0o600))
	check(t, os.Truncate(path, size)) // zeros that were never in memory
	file := New(Config{FS: vfs.OS(), Path: path, Number: 7, Size: size, Log: true})
	first := NewPointer(7, 0, make([]byte, 100))
	if _, err := file.Read(first); err != nil {
		t.Fatal(err)
	}
	wantMap(t, file)
	next := Pointer{File: 7, Offset: 100, Length: 900_000}
	if file.Cold(first) || !file.Cold(next) {
		t.Errorf("what was read is cold: %v; what starts in its page: %v, want true",
			file.Cold(first), file.Cold(next))
	}
	file.Prefetch([]Pointer{next})
	if _, err := file.Read(NewPointer(7, 100, make([]byte, 900_000))); err != nil {
		t.Fatal(err)
	}
	if file.Cold(next) {
		t.Error("what was read is cold")
	}
}
