package valuelog

import (
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

func TestExtents_joinNeighbours(t *testing.T) {
	r := &reader{number: 7, start: fileheader.Size, end: 10 << 20}
	at := func(offset uint64, length uint32) Pointer {
		return Pointer{File: 7, Offset: offset, Length: length}
	}
	for name, tt := range map[string]struct {
		ps   []Pointer
		want []extent
	}{
		"none":     {nil, nil},
		"one":      {[]Pointer{at(48, 10)}, []extent{{48, 58}}},
		"adjacent": {[]Pointer{at(48, 10), at(58, 10)}, []extent{{48, 68}}},
		"near":     {[]Pointer{at(48, 10), at(57+joinBytes, 10)}, []extent{{48, 67 + joinBytes}}},
		"far": {[]Pointer{at(48, 10), at(58+joinBytes, 1)},
			[]extent{{48, 58}, {58 + joinBytes, 59 + joinBytes}}},
		"not sorted": {[]Pointer{at(5<<20, 10), at(100, 10)},
			[]extent{{100, 110}, {5 << 20, 5<<20 + 10}}},
		"twice": {[]Pointer{at(48, 1000), at(48, 1000), at(50, 5)}, []extent{{48, 1048}}},
		"elsewhere": {[]Pointer{at(1<<40, 1), {File: 8, Offset: 50}, at(47, 1), at(50, 1)},
			[]extent{{50, 51}}},
	} {
		before := slices.Clone(tt.ps)
		if got := r.extents(tt.ps); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		if !slices.Equal(tt.ps, before) {
			t.Errorf("%s: the pointers have changed", name)
		}
	}
}

func TestPrefetch_changesNothing(t *testing.T) {
	everywhere(t, func(t *testing.T, fs vfs.FS, path string) {
		values := someValues()
		ps, c := writeValues(t, fs, path, values)
		file := New(c)
		file.Prefetch(nil)
		file.Prefetch(ps)
		slices.Reverse(ps)
		file.Prefetch(ps)
		slices.Reverse(ps)
		wantValues(t, file, ps, values)
	})
}
