package vfs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/symlink"
	"github.com/stoatdb/stoat/internal/vfs"
)

// link makes a symbolic link to a file with a content, or to none, outside of the folder of the
// link, or skips the test where there are no links.
func link(t *testing.T, s system, name, content string) (target string) {
	t.Helper()
	target = filepath.Join(t.TempDir(), "target")
	if content != "" {
		ok(t, os.WriteFile(target, []byte(content), 0o600))
	}
	symlink.Make(t, target, s.path(name))
	return target
}

// wantUntouched wants the target of a link to be as it was made.
func wantUntouched(t *testing.T, target, content string) {
	t.Helper()
	got, err := os.ReadFile(target)
	if content == "" {
		wantErr(t, err, fs.ErrNotExist)
		return
	}
	ok(t, err)
	if string(got) != content {
		t.Errorf("the target of the link is %q, want %q", got, content)
	}
}

func TestOS_createsAndLocksNoFileThroughASymbolicLink(t *testing.T) {
	for name, content := range map[string]string{"with-target": "precious", "dangling": ""} {
		s := system{vfs.OS(), t.TempDir()}
		target := link(t, s, name, content)
		_, err := s.Create(s.path(name))
		wantErr(t, err, fs.ErrExist)
		if l, err := s.Lock(s.path(name)); err == nil {
			t.Errorf("%s: a link is locked", name)
			ok(t, l.Close())
		}
		wantUntouched(t, target, content)
	}
}

func TestOS_removesASymbolicLinkAndNotItsTarget(t *testing.T) {
	s := system{vfs.OS(), t.TempDir()}
	target := link(t, s, "link", "precious")
	ok(t, s.Remove(s.path("link")))
	wantUntouched(t, target, "precious")
}

// FuzzParseOwner parses any lock file. What names a process is its number in decimal.
func FuzzParseOwner(f *testing.F) {
	for _, content := range []string{"", "4711               \n", "4711", "-5\n", "+5\n", "\x00\n",
		"99999999999999999999\n", "12 34\n", "   7\n8"} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		pid := vfs.ParseOwner(content)
		if pid < 0 {
			t.Errorf("ParseOwner(%q) = %d", content, pid)
		}
		if again := vfs.ParseOwner(append(content, "\nmore"...)); again != pid {
			t.Errorf("ParseOwner(%q) = %d, and with more behind it %d", content, pid, again)
		}
	})
}
