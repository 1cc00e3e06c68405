package ship

import (
	"cmp"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/remote/internal/history"
)

// dataFile is a table, a value file or a log segment that a version names, as far as it is stored:
// the first size bytes of it.
type dataFile struct {
	kind   folder.Kind
	number uint64
	size   int64
}

// object returns the name of the object that holds the file.
func (d dataFile) object() string { return history.DataName(d.kind, d.number) }

// byAge compares files by when they were made.
func byAge(a, b dataFile) int { return cmp.Compare(a.number, b.number) }

// filesBeyond returns the files that a version names, and that the one in the store does not.
func filesBeyond(version, there *manifest.Version) (files []dataFile) {
	known := there.TableNumbers()
	for t := range version.Tables() {
		if !known[t.Number] {
			files = append(files, dataFile{folder.Table, t.Number, int64(t.Size)})
		}
	}
	for _, f := range version.ValueFiles {
		if _, ok := there.ValueFile(f.Number); !ok {
			files = append(files, dataFile{f.Kind(), f.Number, int64(f.Size)})
		}
	}
	return files
}

// filesOf returns all files of a version.
func filesOf(v *manifest.Version) []dataFile { return filesBeyond(v, new(manifest.Version)) }

// bytesOf returns what files take.
func bytesOf(files []dataFile) (bytes int64) {
	for _, d := range files {
		bytes += d.size
	}
	return bytes
}
