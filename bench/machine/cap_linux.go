package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// hierarchy is one of the two generations of control groups.
type hierarchy struct {
	root  string // where it is mounted
	limit string // name of the file with the limit
	mark  string // what precedes the group on its line of /proc/self/cgroup
}

func hierarchies() []hierarchy {
	return []hierarchy{
		{"/sys/fs/cgroup", "memory.max", "0::"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", ":memory:"},
	}
}

// capMemory makes a control group for this process.
func capMemory(bytes int64) (lift func() error, err error) {
	var errs []error
	for _, h := range hierarchies() {
		lift, err := h.join(bytes)
		if !denied(err) {
			return lift, err
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("%w: %w", ErrNoCap, errors.Join(errs...))
}

// denied reports whether an error means that there is no such control group, or that this user may
// not use it.
func denied(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, syscall.EROFS)
}

// join makes a group with the limit, moves this process into it, and returns a function that moves
// it back.
func (h hierarchy) join(bytes int64) (lift func() error, err error) {
	const members = "cgroup.procs"
	home, err := h.home()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(home, members)); err != nil {
		return nil, err
	}
	self := strconv.Itoa(os.Getpid())
	group := h.group(os.Getpid())
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	set := func(dir, file, value string) error {
		return os.WriteFile(filepath.Join(dir, file), []byte(value), 0o644)
	}
	lift = func() error {
		return errors.Join(set(home, members, self), os.Remove(group))
	}
	if err := set(group, h.limit, strconv.FormatInt(bytes, 10)); err != nil {
		return nil, errors.Join(err, os.Remove(group))
	}
	if err := set(group, members, self); err != nil {
		return nil, errors.Join(err, os.Remove(group))
	}
	return lift, nil
}

// group returns the folder of the group that a process makes.
func (h hierarchy) group(pid int) string {
	return filepath.Join(h.root, "stoat-bench-"+strconv.Itoa(pid))
}

// home returns the folder of this process's group.
func (h hierarchy) home() (string, error) {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(groups)) {
		if _, group, ok := strings.Cut(strings.TrimSpace(line), h.mark); ok {
			return filepath.Join(h.root, group), nil
		}
	}
	return "", fmt.Errorf("group of this process below %s: %w", h.root, fs.ErrNotExist)
}

func removeCap(pid int) error {
	var errs []error
	for _, h := range hierarchies() {
		// This check comes first: where nothing can be written, the error would be about that.
		if _, err := os.Stat(h.group(pid)); err == nil {
			errs = append(errs, os.Remove(h.group(pid)))
		}
	}
	return errors.Join(errs...)
}

func dropCache(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) {
		return err
	}
	return unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
}

// cachedBytes returns how many bytes of a file are in memory; 0 where the system does not tell, as
// before Linux 6.5.
func cachedBytes(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var all unix.CachestatRange // a length of 0 is up to the end
	var stat unix.Cachestat_t
	err = unix.Cachestat(uint(f.Fd()), &all, &stat, 0)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
		return 0, nil
	}
	return int64(stat.Cache) * int64(os.Getpagesize()), err
}
