//go:build unix

package remote

import (
	"os"
	"runtime"
	"syscall"
)

// processorTime returns the processor time of this process and of those it has waited for, in
// nanoseconds.
func processorTime() (nanoseconds float64, err error) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return 0, err
		}
		nanoseconds += float64(r.Utime.Nano() + r.Stime.Nano())
	}
	return nanoseconds, nil
}

// peakOf returns the bytes of resident memory that a process had at most.
func peakOf(state *os.ProcessState) float64 {
	r, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" { // bytes; elsewhere kibibytes
		return float64(r.Maxrss)
	}
	return float64(r.Maxrss) * 1024
}
