package process

import "syscall"

// endWithParent has the program killed when the thread that started it ends.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
