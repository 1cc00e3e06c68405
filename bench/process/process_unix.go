//go:build unix

package process

import (
	"os"
	"os/exec"
	"syscall"
)

// own gives the program a process group of its own, which the context ends as a whole.
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

// sweep ends what is left of the group of a program that has ended. Mostly that is nothing, which
// is the only error that there can be.
func sweep(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
