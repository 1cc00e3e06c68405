// Package process runs programs and leaves nothing of them behind: neither when they are stopped,
// nor when they have ended, nor when this program dies.
//
// How much of that holds depends on the system. Everywhere, a command's context stops the program
// itself; on Unix, also what the program has started; and on Linux, the program never outlives this
// one. A program can escape by leaving its process group.
package process

import (
	"os/exec"
	"runtime"
)

// Run runs a command that has a context, and waits for it. If the command could not be started, its
// field Process is nil. A keyboard interrupt does not reach it.
func Run(cmd *exec.Cmd) error {
	// Linux ends the program with the thread that started it, so that thread must stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own(cmd)
	err := cmd.Run()
	if cmd.Process != nil {
		sweep(cmd.Process)
	}
	return err
}
