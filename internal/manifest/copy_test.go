package manifest

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// written writes a manifest with all of someEdits and returns its state.
func written(t *testing.T, files vfs.FS) *Version {
	t.Helper()
	edits := someEdits()
	versions := outcomes(t, edits)
	j, err := Create(files, testDir, testNumber, testDatabase, versions[0])
	check(t, err)
	for _, e := range edits {
		check(t, j.Append(e))
	}
	check(t, j.Close())
	return versions[len(versions)-1]
}

// flip changes a bit of a file.
func flip(t *testing.T, files vfs.FS, name string, at int64) {
	t.Helper()
	path := filepath.Join(testDir, name)
	p := content(t, files, path)
	if p[at] ^= 8; p[at] == 0 { // could be left by a crash
		p[at] = 1
	}
	replace(t, files, path, p)
}

// content returns what is in a file.
func content(t *testing.T, files vfs.FS, path string) []byte {
	t.Helper()
	f, err := files.Open(path)
	check(t, err)
	size, err := f.Size()
	check(t, err)
	p := make([]byte, size)
	_, err = f.ReadAt(p, 0)
	check(t, err)
	check(t, f.Close())
	return p
}

// replace writes a file anew.
func replace(t *testing.T, files vfs.FS, path string, p []byte) {
	t.Helper()
	check(t, files.Remove(path))
	f, err := files.Create(path)
	check(t, err)
	_, err = f.WriteAt(p, 0)
	check(t, err)
	check(t, f.Close())
}

func TestCopy_saysWhatTheManifestSays(t *testing.T) {
	files := newFS(t)
	want := written(t, files)
	check(t, CheckCopy(files, testDir, testNumber))
	check(t, files.Remove(filepath.Join(testDir, folder.Manifest.Name(testNumber))))
	s, err := LoadCopy(files, testDir)
	check(t, err)
	if s.Torn || text(s.Version) != text(want) {
		t.Errorf("the copy says\n%s\nwant\n%s", text(s.Version), text(want))
	}
	if _, err := Load(files, testDir); !isMissing(err) {
		t.Errorf("Load takes the copy for a manifest: %v", err)
	}
}

// The first version of a manifest survives an immediate crash, in the manifest and in its copy.
func TestCopy_isDurableWhenTheManifestIsStarted(t *testing.T) {
	files := newFS(t)
	versions := outcomes(t, someEdits())
	_, err := Create(files, testDir, testNumber, testDatabase, versions[len(versions)-1])
	check(t, err)
	s, err := LoadCopy(files.CrashKeepNone(), testDir)
	check(t, err)
	if text(s.Version) != text(versions[len(versions)-1]) {
		t.Errorf("the copy says %s", text(s.Version))
	}
}

func TestCheckCopy_findsEachFlippedByte(t *testing.T) {
	files := newFS(t)
	written(t, files)
	f, err := files.Open(filepath.Join(testDir, folder.ManifestCopy.Name(testNumber)))
	check(t, err)
	size, err := f.Size()
	check(t, err)
	for at := range size {
		files := newFS(t)
		written(t, files)
		flip(t, files, folder.ManifestCopy.Name(testNumber), at)
		if err := CheckCopy(files, testDir, testNumber); !errors.Is(err, corrupt.Err) {
			t.Fatalf("byte %d is wrong: %v", at, err)
		}
	}
}

// No crash leaves zeros in front of bytes of the same sector, unless the copy is encrypted.
func TestCheckCopy_findsZerosWithinASector(t *testing.T) {
	disk := newFS(t)
	written(t, disk)
	path := filepath.Join(testDir, folder.ManifestCopy.Name(testNumber))
	whole := content(t, disk, path)
	tried := 0
	for at, b := range whole {
		end := min(len(whole), (at/sectorBytes+1)*sectorBytes)
		if b == 0 || len(bytes.TrimRight(whole[at+1:end], "\x00")) == 0 {
			continue // no change, or the end of what a crash has left of the sector
		}
		changed := bytes.Clone(whole)
		changed[at] = 0
		replace(t, disk, path, changed)
		if err := CheckCopy(disk, testDir, testNumber); !errors.Is(err, corrupt.Err) {
			t.Fatalf("byte %d is zero: %v", at, err)
		}
		tried++
	}
	if tried < 200 || len(whole) <= sectorBytes {
		t.Errorf("%d of %d bytes were tried", tried, len(whole))
	}
}

// A crash may lose all edits of a copy, or some of its sectors.
func TestCheckCopy_forgivesWhatACrashDoes(t *testing.T) {
	rng := newRand(t)
	files := newFS(t)
	written(t, files)
	for range 50 {
		check(t, CheckCopy(files.Crash(rng), testDir, testNumber))
	}
	check(t, files.Remove(filepath.Join(testDir, folder.ManifestCopy.Name(testNumber))))
	check(t, CheckCopy(files, testDir, testNumber))
}

// What a crash has lost of an encrypted copy reads as zeros, wherever in a sector it was.
func TestCheckCopy_forgivesWhatACrashDoesToAnEncryptedOne(t *testing.T) {
	key, err := cryptfs.NewKey(make([]byte, cryptfs.KeyBytes))
	check(t, err)
	rng := newRand(t)
	for range 20 {
		disk := newFS(t)
		written(t, cryptfs.New(disk, key))
		for range 50 {
			files := cryptfs.New(disk.Crash(rng), key)
			check(t, CheckCopy(files, testDir, testNumber))
		}
	}
}

func TestCopy_isNoReasonToFail(t *testing.T) {
	for n := range 20 {
		disk := newFS(t)
		turn := 0
		files := faultfs.New(disk, func(op faultfs.Op) error {
			if !strings.HasSuffix(op.Name, ".copy") {
				return nil
			}
			if turn++; turn > n {
				return errFault
			}
			return nil
		})
		versions := outcomes(t, someEdits())
		j, err := Create(files, testDir, testNumber, testDatabase, versions[0])
		check(t, err)
		failed := 0
		for _, e := range someEdits() {
			check(t, j.Append(e))
			if err := j.CopyFailure(); errors.Is(err, errFault) {
				failed++
			}
		}
		if failed > 1 || n == 0 && failed == 0 {
			t.Errorf("%d operations succeed, %d failures are told", n, failed)
		}
		s, err := Load(disk.CrashKeepNone(), testDir)
		check(t, err)
		if text(s.Version) != text(versions[len(versions)-1]) {
			t.Errorf("%d operations succeed, the manifest says %s", n, text(s.Version))
		}
	}
}
