package manifest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
)

// ValueFile is a file that tables point into: a log segment that was flushed, or a value file.
type ValueFile struct {
	Number uint64
	Size   uint64 // bytes of the file
	Log    bool   // it is a log segment
	Live   uint64 // bytes of the values that tables point to; computed, not recorded
	Count  uint64 // number of these values; likewise
}

// Kind returns what the file is: a log segment or a value file.
func (f ValueFile) Kind() folder.Kind {
	if f.Log {
		return folder.Log
	}
	return folder.Values
}

// Name returns the name of the file.
func (f ValueFile) Name() string { return f.Kind().Name(f.Number) }

// Garbage returns the bytes of the file behind its header that nothing points to: rewriting it
// would free them. If several pointers share a value, each counts, so Garbage may be too small.
func (f ValueFile) Garbage() uint64 { return f.Size - min(f.Size, fileheader.Size+f.Live) }

// withValues returns the files that tables of v point into, by number, with Live and Count set. It
// returns an error if a file is missing.
func (v *Version) withValues(files []ValueFile) ([]ValueFile, error) {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b ValueFile) int { return cmp.Compare(a.Number, b.Number) })
	for i := range files {
		files[i].Live, files[i].Count = 0, 0
		if i > 0 && files[i].Number == files[i-1].Number {
			return nil, fmt.Errorf("two value files have the number %06d", files[i].Number)
		}
	}
	for t := range v.Tables() {
		for _, share := range t.Values {
			i, ok := findValueFile(files, share.File)
			if !ok {
				return nil, fmt.Errorf("table %06d points into file %06d, which is missing",
					t.Number, share.File)
			}
			f := &files[i]
			f.Live += share.Bytes
			f.Count += share.Count
			if f.Live < share.Bytes || f.Count < share.Count {
				return nil, fmt.Errorf("tables point to too much in file %06d", f.Number)
			}
		}
	}
	return slices.DeleteFunc(files, func(f ValueFile) bool { return f.Count == 0 }), nil
}

// ValueFile returns the value file with the given number.
func (v *Version) ValueFile(number uint64) (ValueFile, bool) {
	i, ok := findValueFile(v.ValueFiles, number)
	if !ok {
		return ValueFile{}, false
	}
	return v.ValueFiles[i], true
}

// findValueFile searches files, which are sorted by number.
func findValueFile(files []ValueFile, number uint64) (index int, ok bool) {
	return slices.BinarySearchFunc(files, number, func(f ValueFile, number uint64) int {
		return cmp.Compare(f.Number, number)
	})
}
