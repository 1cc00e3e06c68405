// Package machine reports what the operating system knows: what this process has used, what a
// directory takes on disk, and what the machine is.
//
// Everything is read on request and nothing is kept. Where the system does not report a value
// (everywhere except Linux), a number is zero and a text empty.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Usage is what this process has used since it started.
type Usage struct {
	CPU     time.Duration // user and system together
	Written int64         // bytes written, or soon to be written, to the block device; 0 on tmpfs
	Peak    int64         // peak resident bytes
	Anon    int64         // resident bytes that are not of mapped files
	File    int64         // resident bytes of mapped files

	WrittenKnown bool // false in containers that hide Written
}

// Now returns the usage so far.
func Now() (Usage, error) { return usage() }

// Anonymous returns size zero bytes, outside the Go heap where possible: they neither affect the
// garbage collector's pace nor take memory before they are written to.
func Anonymous(size int) ([]byte, error) { return anonymous(size) }

// ErrNoCap is returned if this process cannot cap its memory.
var ErrNoCap = errors.New("memory cannot be capped here")

// CapMemory limits this process's memory, including its share of the page cache, to so many bytes
// until lift is called. What it already has does not count. The error matches [ErrNoCap] if the
// system cannot do this, or not for this user.
func CapMemory(bytes int64) (lift func() error, err error) { return capMemory(bytes) }

// CheckCap returns the error that [CapMemory] would return, without capping anything.
func CheckCap() error {
	lift, err := CapMemory(math.MaxInt32)
	if err != nil {
		return err
	}
	return lift()
}

// RemoveCap removes what is left of the cap of a process that died without lifting it. It does
// nothing if there was no cap.
func RemoveCap(pid int) error { return removeCap(pid) }

// DropCache makes the system drop the cached pages of all files under dir, except those that a
// process has mapped.
func DropCache(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return dropCache(path)
	})
}

// CheckCached returns an error if more than limit bytes of the files under dir are in memory. The
// page cache of a process with capped memory counts, but not pages that another process has read:
// they would make the cap meaningless. It returns nil where the system does not tell.
func CheckCached(dir string, limit int64) error {
	var total int64
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an open engine may remove files
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		n, err := cachedBytes(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		total += n
		return err
	})
	if err == nil && total > limit {
		err = fmt.Errorf("%d MiB of the files in %s are in memory, but %d MiB is all that this process"+
			" may use: keep other processes, such as a search, from reading them", total>>20, dir,
			limit>>20)
	}
	return err
}

// SyncData makes the contents of a file durable, with the cheapest call that the system has for it.
func SyncData(f *os.File) error { return syncData(f) }

// SyncDisks waits until what other processes wrote is on disk.
func SyncDisks() { syncDisks() }

// Size is what a directory takes on disk.
type Size struct {
	Apparent  int64 // sum of the files' lengths
	Allocated int64 // length of their blocks on disk
}

// SizeOf adds up the files under dir.
func SizeOf(dir string) (Size, error) {
	var total Size
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		total.Apparent += info.Size()
		total.Allocated += allocated(info)
		return nil
	})
	return total, err
}

// Description describes the machine in a report.
type Description struct {
	CPU    string
	CPUs   int
	Memory int64
	System string // operating system, architecture, and its version
	Go     string
}

// FileSystem returns the type of the file system of dir.
func FileSystem(dir string) string { return fileSystem(dir) }

// Describe returns the description of this machine.
func Describe() Description {
	d := describe()
	d.CPUs = runtime.GOMAXPROCS(0)
	d.System = strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + d.System)
	d.Go = runtime.Version()
	return d
}
