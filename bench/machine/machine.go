// Package machine tells what the operating system knows: what this process has used, what a
// directory takes on disk, and what the machine is.
//
// Everything is read when asked for and nothing is kept. Where the system does not tell (all but
// Linux, so far) a number is zero and a text empty.
package machine

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Usage is what this process has used since it started.
type Usage struct {
	CPU     time.Duration // of user and system together
	Written int64         // bytes handed to the block device, or about to be; not on tmpfs
	Peak    int64         // most bytes resident at once
	Anon    int64         // bytes resident now that are no mapped file
	File    int64         // bytes of mapped files resident now

	WrittenKnown bool // some containers hide what was written
}

// Now returns the usage so far.
func Now() (Usage, error) { return usage() }

// Anonymous returns size zero bytes outside the Go heap if the system can, so that they neither
// show in the collector's pace nor take memory before they are written to.
func Anonymous(size int) ([]byte, error) { return anonymous(size) }

// ErrNoCap reports a system that does not let this process cap its memory.
var ErrNoCap = errors.New("memory cannot be capped here")

// CapMemory lets the system give this process so many bytes of memory from now on, its share of the
// page cache included, until lift is called. What it has already does not count. The error matches
// [ErrNoCap] if the system has no such thing, or not for this user.
func CapMemory(bytes int64) (lift func() error, err error) { return capMemory(bytes) }

// CheckCap returns the error of [CapMemory], and caps nothing.
func CheckCap() error {
	lift, err := CapMemory(math.MaxInt32)
	if err != nil {
		return err
	}
	return lift()
}

// RemoveCap removes what is left of the cap of a process that has died without lifting it. It does
// nothing if there was none.
func RemoveCap(pid int) error { return removeCap(pid) }

// DropCache makes the system forget the pages of all files under dir. Those that a process has
// mapped stay.
func DropCache(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return dropCache(path)
	})
}

// SyncDisks waits until what other processes wrote is on disk.
func SyncDisks() { syncDisks() }

// Size is what a directory takes.
type Size struct {
	Apparent  int64 // sum of the files' lengths
	Allocated int64 // blocks on disk
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

// Description is what a report says about the machine.
type Description struct {
	CPU    string
	CPUs   int
	Memory int64
	System string // operating system, architecture, and its version
	Go     string
}

// FileSystem returns the type of the file system that dir is on.
func FileSystem(dir string) string { return fileSystem(dir) }

// Describe describes the machine.
func Describe() Description {
	d := describe()
	d.CPUs = runtime.GOMAXPROCS(0)
	d.System = strings.TrimSpace(runtime.GOOS + "/" + runtime.GOARCH + " " + d.System)
	d.Go = runtime.Version()
	return d
}
