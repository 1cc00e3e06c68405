// Package symlink makes symbolic links for tests.
package symlink

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"testing"
)

// privilegeNotHeld is the Windows error for users who may not create symbolic links.
const privilegeNotHeld = syscall.Errno(1314)

// Make creates a symbolic link. It skips the test if the user may not create one.
func Make(t testing.TB, to, name string) {
	t.Helper()
	err := os.Symlink(to, name)
	if runtime.GOOS == "windows" && errors.Is(err, privilegeNotHeld) {
		t.Skip("this user may not make symbolic links: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}
