package manifest

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// beginningOf loads the readable beginning of a manifest with these bytes.
func beginningOf(t testing.TB, data []byte) (*State, error) {
	t.Helper()
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	putFile(t, files, folder.Manifest.Name(testNumber), data)
	return LoadBeginning(files, testDir, folder.Manifest.Name(testNumber), testNumber, testDatabase)
}

func TestLoadBeginning_appliesTheEditsBeforeTheDamage(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	image, ends := imageOf(t, versions[0], edits)
	for at := range image {
		damaged := bytes.Clone(image)
		damaged[at] ^= 0x40
		left := 0 // whole frames
		for left < len(ends) && ends[left] <= at {
			left++
		}
		state, err := beginningOf(t, damaged)
		switch {
		case at < fileheader.Size: // is not read
			left = len(ends)
		case left == 0:
			if !isDamage(err) {
				t.Fatalf("byte %d of the version: %v", at, err)
			}
			continue
		}
		if err != nil || text(state.Version) != text(versions[left-1]) ||
			state.Torn != (left < len(ends)) || state.Edits != left-1 ||
			state.End != int64(ends[left-1]) {
			t.Fatalf("byte %d: got %+v, %v, want the version after %d edits", at, state, err, left-1)
		}
	}
	t.Logf("trust: %d flipped bytes", len(image))
}
