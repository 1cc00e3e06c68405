//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// own gives the program its own process group, which the context ends as a whole.
func own(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		if syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
}

// sweep ends what is left of the group of a program that has ended. Usually nothing is left, which
// is the only possible error.
func sweep(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
