package engine

import (
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// maxNumber is far beyond the numbers of any database's files, and far below those that names and
// manifests take: files that are created later get higher ones.
const maxNumber = 1 << 61

// survey lists the folder of a database. A number that leaves no room for those of new files is
// damage.
func survey(files vfs.Files, dir string) (folder.Listing, error) {
	found, err := folder.List(files, dir)
	if err != nil {
		return found, err
	}
	if found.Key != "" { // a file system that decrypts shows none
		return found, fmt.Errorf("the database is encrypted, as %s says: %w",
			filepath.Join(dir, found.Key), corrupt.ErrKey)
	}
	if found.Highest > maxNumber {
		for kind, number := range found.All() {
			if number == found.Highest {
				return found, corrupt.New(filepath.Join(dir, kind.Name(number)), 0,
					"no database has a file with such a number; move it elsewhere")
			}
		}
	}
	if found.Unfinished && found.Other == "" {
		found.Other = folder.UnfinishedName // a folder with nothing else is no database
	}
	return found, nil
}
