package load

import "golang.org/x/sys/unix"

// freeDisk returns the number of bytes free for writing in dir's file system, or 0 if unknown.
func freeDisk(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
