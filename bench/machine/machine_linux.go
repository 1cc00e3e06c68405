package machine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func usage() (Usage, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return Usage{}, fmt.Errorf("read resource usage: %w", err)
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return Usage{}, err
	}
	u := Usage{
		CPU:  time.Duration(r.Utime.Nano() + r.Stime.Nano()),
		Peak: kibibytes(string(status), "VmHWM:"),
		Anon: kibibytes(string(status), "RssAnon:"),
		File: kibibytes(string(status), "RssFile:"),
	}
	// Some containers forbid reading it; the rest is still useful.
	if io, err := os.ReadFile("/proc/self/io"); err == nil {
		u.Written, u.WrittenKnown = number(string(io), "write_bytes:"), true
	}
	return u, nil
}

func anonymous(size int) ([]byte, error) {
	const flags = syscall.MAP_ANON | syscall.MAP_PRIVATE
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, flags)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return b, nil
}

func syncData(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }

func syncDisks() { syscall.Sync() }

func allocated(info fs.FileInfo) int64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return stat.Blocks * 512
}

func describe() Description {
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	memory, _ := os.ReadFile("/proc/meminfo")
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	_, model, _ := strings.Cut(line(string(cpu), "model name"), ":")
	return Description{
		CPU:    strings.TrimSpace(model),
		Memory: kibibytes(string(memory), "MemTotal:"),
		System: strings.TrimSpace(string(release)),
	}
}

// fileSystem returns the type of the file system mounted closest above dir.
func fileSystem(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	mounts, _ := os.ReadFile("/proc/self/mounts")
	var closest, kind string
	for mount := range strings.Lines(string(mounts)) {
		fields := strings.Fields(mount)
		if len(fields) < 3 || len(fields[1]) < len(closest) {
			continue
		}
		if dir == fields[1] || strings.HasPrefix(dir, strings.TrimSuffix(fields[1], "/")+"/") {
			closest, kind = fields[1], fields[2]
		}
	}
	return kind
}

// line returns what follows the prefix on the first line that starts with it.
func line(text, prefix string) string {
	for l := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(l, prefix); ok {
			return rest
		}
	}
	return ""
}

// number returns the number after a name, or 0.
func number(text, name string) int64 {
	fields := strings.Fields(line(text, name))
	if len(fields) == 0 {
		return 0
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// kibibytes returns the number of bytes after a name, whose line counts units of 1024.
func kibibytes(text, name string) int64 { return number(text, name) << 10 }
