package load

import "golang.org/x/sys/unix"

// freeDisk returns how many bytes may still be written where dir is, or 0 if the system does not
// tell.
func freeDisk(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
