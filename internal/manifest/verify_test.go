package manifest

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
)

func TestLoadFile_takesNothingButAWholeManifest(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	data, ends := imageOf(t, versions[0], edits)
	files := newFS(t)
	putFile(t, files, folder.Manifest.Name(12), data)
	whole, err := Load(files, "db")
	check(t, err)
	for size := range len(data) + 1 {
		_ = files.Remove("db/some name") // absent the first time
		putFile(t, files, "some name", data[:size])
		state, err := LoadFile(files, "db", "some name", 12)
		switch {
		case size < ends[0]:
			if !isDamage(err) {
				t.Fatalf("of %d bytes: error %v", size, err)
			}
		case err != nil:
			t.Fatalf("of %d bytes: %v", size, err)
		case size == len(data) && !state.Version.Equal(whole.Version) || size < ends[1] &&
			state.Version.Equal(whole.Version):
			t.Fatalf("%d of %d bytes say %s", size, len(data), text(state.Version))
		}
	}
	if _, err := LoadFile(files, "db", folder.Manifest.Name(12), 13); !errors.Is(err, corrupt.Err) {
		t.Errorf("of another number: %v", err)
	}
	if _, err := LoadFile(files, "db", folder.Manifest.Name(14), 14); !isMissing(err) {
		t.Errorf("of a missing file: %v", err)
	}
}

func TestLoadCopy_takesTheNewest(t *testing.T) {
	files := newFS(t)
	if _, err := LoadCopy(files, "db"); !isMissing(err) {
		t.Errorf("without a copy: %v", err)
	}
	data, _ := imageOf(t, &Version{LastCommit: 3}, nil)
	putFile(t, files, folder.ManifestCopy.Name(12), data)
	state, err := LoadCopy(files, "db")
	check(t, err)
	if state.Number != 12 || state.Version.LastCommit != 3 {
		t.Errorf("the copy is %+v", state)
	}
	check(t, files.Remove("db/"+folder.ManifestCopy.Name(12)))
	putFile(t, files, folder.ManifestCopy.Name(12), data[:60])
	if _, err := LoadCopy(files, "db"); !isMissing(err) {
		t.Errorf("of half a copy: %v", err)
	}
}
