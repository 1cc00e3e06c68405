package vfs

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// MemorySize returns the bytes of memory that the process may use: what the machine has or, if
// less, what the control groups of the process may. It returns 0 if that is unknown.
func MemorySize() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	total := uint64(info.Totalram) * uint64(info.Unit)
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		groups = nil
	}
	for line := range bytes.Lines(groups) {
		total = min(total, groupMemory("/sys/fs/cgroup", string(bytes.TrimSpace(line))))
	}
	return int64(min(total, math.MaxInt64))
}

// groupMemory returns the lowest limit of the control group on a line of /proc/self/cgroup and of
// the groups that it is in. In a container, the names of the outer groups may not exist.
func groupMemory(root, line string) uint64 {
	limit, file := uint64(math.MaxUint64), ""
	_, rest, _ := strings.Cut(line, ":")
	controllers, group, _ := strings.Cut(rest, ":")
	switch controllers {
	case "":
		file = "memory.max"
	case "memory":
		root, file = filepath.Join(root, "memory"), "memory.limit_in_bytes"
	default:
		return limit
	}
	for group = filepath.Join("/", group); ; group = filepath.Dir(group) {
		p, err := os.ReadFile(filepath.Join(root, group, file))
		if err == nil {
			if n, err := strconv.ParseUint(string(bytes.TrimSpace(p)), 10, 64); err == nil {
				limit = min(limit, n)
			}
		}
		if group == "/" {
			return limit
		}
	}
}
