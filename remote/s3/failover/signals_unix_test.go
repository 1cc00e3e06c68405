//go:build unix

package failover

import (
	"os"
	"syscall"
	"testing"
)

// freeze stops a process until thaw.
func freeze(t *testing.T, p *os.Process) {
	t.Helper()
	ok(t, p.Signal(syscall.SIGSTOP))
}

func thaw(t *testing.T, p *os.Process) {
	t.Helper()
	ok(t, p.Signal(syscall.SIGCONT))
}
