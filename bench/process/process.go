// Package process runs programs so that nothing of them is left: neither when they are stopped, nor
// when they have ended, nor when this program dies.
//
// How much of that holds depends on the system. Everywhere a command's context stops the program
// itself; Unix stops what the program has started, too; and on Linux the program does not outlive
// this one, however that ends. A program may escape by leaving its process group.
package process

import (
	"os/exec"
	"runtime"
)

// Run runs a command that has a context, and waits for it. If it could not be started, its field
// Process is nil. An interrupt from the keyboard does not reach it.
func Run(cmd *exec.Cmd) error {
	// Linux ends the program with the thread that has started it, which must therefore stay.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own(cmd)
	err := cmd.Run()
	if cmd.Process != nil {
		sweep(cmd.Process)
	}
	return err
}
