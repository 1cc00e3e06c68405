package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// sourceTree is the regular files of a folder when it was listed. It is not safe for concurrent use
// while files are removed from the list.
type sourceTree struct {
	base    string // what the names of the files are relative to
	files   []sourceFile
	bytes   int64
	skipped skipped
}

// sourceFile is a file of the folder when it was listed.
type sourceFile struct {
	name string // with slashes, on every system
	size int64
}

// skipped counts the files that a sourceTree leaves out.
type skipped struct {
	Links      int `json:"links"`      // symbolic links
	Special    int `json:"special"`    // devices, sockets, pipes
	Unreadable int `json:"unreadable"` // folders and files
	Large      int `json:"large"`      // files over 1 GiB
}

func (s skipped) total() int { return s.Links + s.Special + s.Unreadable + s.Large }

// goSource returns the source tree of the Go toolchain of this machine.
func goSource() (*sourceTree, error) {
	root := build.Default.GOROOT
	if out, err := exec.Command("go", "env", "GOROOT").Output(); err == nil {
		root = strings.TrimSpace(string(out))
	}
	tree, err := readTree(root, "src")
	if err != nil {
		return nil, fmt.Errorf("%w: install Go, or name any directory with -dir", err)
	}
	return tree, nil
}

// readTree lists the files in the folder top of the folder base, in byte order of their names.
func readTree(base, top string) (*sourceTree, error) {
	t := &sourceTree{base: base}
	if base == "" {
		return nil, errors.New("no directory to read")
	}
	err := fs.WalkDir(t.fs(), top, func(name string, d fs.DirEntry, err error) error {
		if err != nil && name == top {
			return fmt.Errorf("read %s: %w", filepath.Join(base, top), err)
		}
		t.add(name, d, err)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(t.files) == 0 {
		return nil, fmt.Errorf("%s has no files to read", filepath.Join(base, top))
	}
	slices.SortFunc(t.files, func(a, b sourceFile) int { return cmp.Compare(a.name, b.name) })
	return t, nil
}

// add lists one file, or counts it as skipped.
func (t *sourceTree) add(name string, d fs.DirEntry, err error) {
	if err != nil {
		t.skipped.Unreadable++
		return
	}
	switch mode := d.Type(); {
	case mode.IsDir():
		return
	case mode&fs.ModeSymlink != 0:
		t.skipped.Links++
		return
	case !mode.IsRegular():
		t.skipped.Special++
		return
	}
	info, err := d.Info()
	switch {
	case err != nil:
		t.skipped.Unreadable++
	case info.Size() > valueBytesMax:
		t.skipped.Large++
	default:
		t.files = append(t.files, sourceFile{name, info.Size()})
		t.bytes += info.Size()
	}
}

// fs returns the file system that the names are in.
func (t *sourceTree) fs() fs.FS { return os.DirFS(t.base) }

// read returns the current content of the file.
func (t *sourceTree) read(f sourceFile) ([]byte, error) { return fs.ReadFile(t.fs(), f.name) }

// prefix returns the folder for the prefix scan: net/http of the Go source, or else the folder with
// the most files directly in it.
func (t *sourceTree) prefix() string {
	const preferred = "src/net/http/"
	counts := map[string]int{}
	best := ""
	for _, f := range t.files {
		if strings.HasPrefix(f.name, preferred) {
			return preferred
		}
		folder := f.name[:strings.LastIndexByte(f.name, '/')+1]
		if counts[folder]++; folder != "" && counts[folder] > counts[best] {
			best = folder
		}
	}
	return best
}

// within returns the files whose names begin with the prefix.
func (t *sourceTree) within(prefix string) []sourceFile {
	var files []sourceFile
	for _, f := range t.files {
		if strings.HasPrefix(f.name, prefix) {
			files = append(files, f)
		}
	}
	return files
}
