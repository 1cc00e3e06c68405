package manifest

import (
	"errors"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
)

// walkImage returns the frames of a manifest, which must cover it without gaps.
func walkImage(t testing.TB, data []byte) (all []Frame) {
	t.Helper()
	at := int64(fileheader.Size)
	check(t, Walk(data, func(f Frame) error {
		if f.At != at || f.End <= at || f.End > int64(len(data)) {
			t.Fatalf("frame [%d, %d) follows offset %d", f.At, f.End, at)
		}
		none := f.Version == nil && f.Edit == nil
		if none && f.Err == nil || f.Err != nil && f.After != nil ||
			f.Torn && f.End < int64(len(data)) {
			t.Fatalf("frame at %d is %+v", at, f)
		}
		at = f.End
		all = append(all, f)
		return nil
	}))
	if at < int64(len(data)) {
		t.Fatalf("the frames end at %d of %d", at, len(data))
	}
	return all
}

// checkWalk checks that Walk ends with the version that Load returns.
func checkWalk(t testing.TB, data []byte, want *Version) {
	t.Helper()
	frames := walkImage(t, data)
	last := len(frames) - 1
	if frames[last].Torn {
		last--
	}
	if got := frames[last].After; got == nil || text(got) != text(want) {
		t.Fatalf("after frame %d of %d: %+v, want %s", last, len(frames), got, text(want))
	}
}

func TestWalk_returnsTheVersionAndTheEdits(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	data, ends := imageOf(t, versions[0], edits)
	frames := walkImage(t, data)
	for i, f := range frames {
		if (f.Version != nil) != (i == 0) || (f.Edit != nil) != (i > 0) || f.Err != nil ||
			f.End != int64(ends[i]) || text(f.After) != text(versions[i]) {
			t.Errorf("frame %d is %+v", i, f)
		}
	}
	if len(frames) != 1+len(edits) {
		t.Errorf("%d frames, want %d", len(frames), 1+len(edits))
	}
}

func TestWalk_continuesAfterEveryFlippedByte(t *testing.T) {
	edits := someEdits()
	data, ends := imageOf(t, &Version{NextNumber: 2}, edits)
	for at := range data {
		data[at] ^= 0x10
		intact, unfitted := 0, 0
		for _, f := range walkImage(t, data) {
			if f.Version != nil || f.Edit != nil {
				intact++
			}
			if f.Edit != nil && f.After == nil {
				unfitted++
			}
			if f.Torn != (f.Err == errNoFrame && at >= ends[len(ends)-2]) {
				t.Fatalf("byte %d is flipped: frame %+v", at, f)
			}
		}
		behind := 0 // edits after the damage, which fit no known version
		for _, end := range ends[:len(ends)-1] {
			if at >= fileheader.Size && end > at {
				behind++
			}
		}
		want := len(ends)
		if at >= fileheader.Size {
			want--
		}
		if intact != want || unfitted != behind {
			t.Fatalf("byte %d is flipped: %d frames are intact, %d fit nothing, want %d and %d",
				at, intact, unfitted, want, behind)
		}
		data[at] ^= 0x10
	}
	t.Logf("trust: %d flipped bytes", len(data))
}

func TestWalk_readsAManifestThatIsCutOffAnywhere(t *testing.T) {
	data, ends := imageOf(t, &Version{NextNumber: 2}, someEdits())
	for n := range data {
		if n > ends[0] {
			s, err := loadImage(t, data[:n])
			check(t, err)
			checkWalk(t, data[:n], s.Version)
		} else if n >= fileheader.Size {
			walkImage(t, data[:n])
		} else {
			check(t, Walk(data[:n], func(Frame) error { return errors.New("a frame") }))
		}
	}
	t.Logf("trust: %d cut lengths", len(data))
}
