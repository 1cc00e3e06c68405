package load

import (
	"io/fs"
	"path/filepath"
)

// sizeOfFiles adds up the lengths of the files under dir whose names match the pattern.
func sizeOfFiles(dir, pattern string) (total int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		match, err := filepath.Match(pattern, d.Name())
		if err != nil || !match {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	return total, err
}
