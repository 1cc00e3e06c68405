package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

func TestClone_isReadWithItsParentUntilItIsDetached(t *testing.T) {
	dir, store := shipped(t, 5)
	root := t.TempDir()
	path := func(name string) string { return filepath.Join(root, name) }
	clone := path("clone")
	contains(t, output(t, "clone", store, clone), "commit 5 ")
	put(t, dir, 5, 9)
	output(t, "init", dir, store)

	contains(t, output(t, "status", clone), "clone of", "needs", "1 file", "its pin", "clone-")
	for _, command := range []string{"verify", "scan", "reader -once", "restore"} {
		args := append(strings.Fields(command), clone)
		if command == "restore" {
			args = append(args, path("copy"))
		}
		fails(t, exitError, args, store, "-parent")
		output(t, append([]string{args[0], "-parent", store}, args[1:]...)...)
	}
	wantKeys(t, path("copy"), 5)
	second := path("second")
	output(t, "clone", "-parent", store, clone, second)
	wantLines := func(n int, args ...string) {
		t.Helper()
		if got := strings.Count(output(t, append([]string{"scan"}, args...)...), "\n"); got != n {
			t.Errorf("scan %q: %d lines, want %d", args, got, n)
		}
	}
	wantLines(5, "-parent", clone, "-parent", store, second)
	wantLines(9, store)

	fails(t, exitUsage, []string{"detach", path("work"), clone}, "-parent")
	contains(t, output(t, "detach", "-parent", store, path("work"), clone), "copied 1 file")
	output(t, "gc", "-retention", "1ns", dir, store)
	output(t, "gc", "-retention", "1ns", path("work"), clone) // it has no tables
	output(t, "gc", "-retention", "1ns", "-parent", store, path("work"), clone)
	fails(t, exitError, []string{"gc", path("none"), clone}, "no database at")
	wantLines(5, clone)
	wantLines(5, "-parent", clone, second)
	if out := output(t, "pins", store); out != "" {
		t.Errorf("left is %s", out)
	}
}

func TestClone_ofAMoment(t *testing.T) {
	_, store := shipped(t, 5)
	clone := filepath.Join(t.TempDir(), "clone")
	var m momentJSON
	ok(t, json.Unmarshal([]byte(output(t, "clone", "-json", "-commit", "5", store, clone)), &m))
	if m.Commit != 5 || m.Time == "" {
		t.Errorf("got %+v", m)
	}
	var v statusJSON
	ok(t, json.Unmarshal([]byte(output(t, "status", "-json", clone)), &v))
	if v.Origin == nil || v.Origin.Name != store || v.Origin.Commit != 5 ||
		v.Origin.Needed.Bytes == 0 {
		t.Errorf("got %+v", v.Origin)
	}
	other := filepath.Join(t.TempDir(), "x")
	fails(t, exitNotFound, []string{"clone", "-commit", "99", store, other}, "status")
	fails(t, exitError, []string{"clone", store, store}, "choose a new store")
	output(t, "unpin", store, v.Origin.Pin)
	fails(t, exitNotFound, []string{"verify", "-parent", store, clone}, v.Origin.Pin+
		" was removed: files may be deleted", "\"stoat remote clone PARENT STORE\"")
	output(t, "clone", store, clone)
	output(t, "verify", "-deep", "-parent", store, clone)
}

func TestClone_hasTheKeyOfItsParent(t *testing.T) {
	dir, root, key := newDB(t, 3), t.TempDir(), keyFile(t, 1)
	store, clone := filepath.Join(root, "store"), filepath.Join(root, "clone")
	output(t, "init", "-plain", "-key-file", key, dir, store)
	output(t, "clone", "-key-file", key, store, clone)
	contains(t, output(t, "scan", "-key-file", key, "-parent", store, clone), "key002")
	fails(t, exitError, []string{"scan", "-parent", store, clone}, "-key-file")
}
