package vfs_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
)

// lockVariable makes the test binary hold the lock that it names until its input ends.
const lockVariable = "STOAT_TEST_LOCK"

func TestMain(m *testing.M) {
	if name := os.Getenv(lockVariable); name != "" {
		if err := holdLock(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func holdLock(name string) error {
	l, err := vfs.OS().Lock(name)
	if err != nil {
		return err
	}
	if os.Getenv(lockVariable+"_ANNOUNCE") != "" {
		if err := l.Announce(); err != nil {
			return err
		}
	}
	fmt.Println("locked")
	_, err = os.Stdin.Read(make([]byte, 1)) // until the test or its end closes it
	if err == nil {
		return errors.New("unexpected input")
	}
	return nil
}

// lockElsewhere lets another process hold a lock until the test calls release, which ends it
// without a chance to unlock.
func lockElsewhere(t *testing.T, name string, env ...string) (pid int, release func()) {
	t.Helper()
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("no processes here")
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), lockVariable+"="+name), env...)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe()
	ok(t, err)
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	release = func() {
		cmd.Process.Kill() // an error means that it is gone
		cmd.Wait()
	}
	t.Cleanup(release)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q: %v", line, err)
	}
	return cmd.Process.Pid, release
}

func TestLock_namesTheProcessThatHoldsIt(t *testing.T) {
	name := filepath.Join(t.TempDir(), "LOCK")
	ok(t, os.WriteFile(name, nil, 0o600))
	pid, release := lockElsewhere(t, name, lockVariable+"_ANNOUNCE=1")
	_, err := vfs.OS().Lock(name)
	wantErr(t, err, vfs.ErrLocked)
	if want := fmt.Sprintf("locked by process %d", pid); !strings.Contains(err.Error(), want) {
		t.Errorf("the error %q does not say %q", err, want)
	}
	release()
	l, err := vfs.OS().Lock(name)
	ok(t, err) // the lock of a killed process is free
	ok(t, l.Close())
}

func TestLock_namesNobodyIfTheFileDoesNot(t *testing.T) {
	for _, content := range []string{"", "\n", "no number\n", "-5\n", "99999999999999999999999999\n"} {
		name := filepath.Join(t.TempDir(), "LOCK")
		ok(t, os.WriteFile(name, []byte(content), 0o600))
		_, release := lockElsewhere(t, name)
		_, err := vfs.OS().Lock(name)
		wantErr(t, err, vfs.ErrLocked)
		if want := "locked by another process"; !strings.HasSuffix(err.Error(), want) {
			t.Errorf("with %q in the file, the error is %q, want one that ends %q", content, err, want)
		}
		release()
	}
}

func TestOS_keepsOthersOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes here")
	}
	s := system{vfs.OS(), filepath.Join(t.TempDir(), "a", "b")}
	ok(t, s.MkdirAll(s.dir))
	create(t, s, "file", "")
	for name, want := range map[string]os.FileMode{
		filepath.Dir(s.dir): 0o700, s.dir: 0o700, s.path("file"): 0o600,
	} {
		info, err := os.Stat(name)
		ok(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s is %o, want %o", name, got, want)
		}
	}
}

func TestMap_isNotCopiedWhenTheFileIsReopened(t *testing.T) {
	s := system{vfs.OS(), t.TempDir()}
	w := create(t, s, "file", "content")
	r, err := s.Open(s.path("file"))
	ok(t, err)
	defer r.Close()
	data := mapped(t, r, 7)
	write(t, w, "C", 0)
	if string(data) != "Content" {
		t.Errorf("the map is %q, want what was written since", data)
	}
}
