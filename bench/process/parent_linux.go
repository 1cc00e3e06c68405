package process

import "syscall"

// endWithParent lets the program be killed when the thread that has started it ends.
func endWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
