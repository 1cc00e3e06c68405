package engine

import (
	"path/filepath"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/wal"
)

const (
	lockName = "LOCK"

	// maxNumber is far beyond the numbers of any database's files, and far below those that names
	// and manifests take: files that are created later get higher ones.
	maxNumber = 1 << 61
)

// files is what a database folder holds: numbers by kind of file, ascending.
type files struct {
	tables, values, logs, manifests, copies []uint64

	highest uint64 // of all numbers
	foreign string // a name that is none of ours, if there is one
	marked  bool   // among those is the mark of an unfinished backup
}

// equal reports whether two folders hold files of the same names.
func (f files) equal(g files) bool {
	return slices.Equal(f.tables, g.tables) && slices.Equal(f.values, g.values) &&
		slices.Equal(f.logs, g.logs) && slices.Equal(f.manifests, g.manifests) &&
		slices.Equal(f.copies, g.copies)
}

// survey lists a database folder. A name with a number that leaves no room for those of new files
// is damage.
func survey(fs vfs.Files, dir string) (files, error) {
	names, err := fs.List(dir)
	if err != nil {
		return files{}, err
	}
	var found files
	for _, name := range names {
		number := uint64(0)
		if n, ok := manifest.ParseName(name); ok {
			found.manifests, number = append(found.manifests, n), n
		} else if n, ok := manifest.ParseCopyName(name); ok {
			found.copies, number = append(found.copies, n), n
		} else if n, ok := wal.ParseName(name); ok {
			found.logs, number = append(found.logs, n), n
		} else if n, ok := run.ParseName(name); ok {
			found.tables, number = append(found.tables, n), n
		} else if n, ok := valuelog.ParseName(name); ok {
			found.values, number = append(found.values, n), n
		} else if name != lockName {
			found.foreign = name
			found.marked = found.marked || name == backup.Unfinished
		}
		if number > maxNumber {
			return files{}, corrupt.New(filepath.Join(dir, name), 0,
				"no database has a file with such a number; move it elsewhere")
		}
		found.highest = max(found.highest, number)
	}
	for _, numbers := range [][]uint64{
		found.tables, found.values, found.logs, found.manifests, found.copies,
	} {
		slices.Sort(numbers)
	}
	return found, nil
}
