package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/folderstore"
)

func TestInit_shipsAgainWhatWasAdded(t *testing.T) {
	dir, store := shipped(t, 3)
	contains(t, output(t, "status", store), "commit 3 ", "epoch 1 ", "the first one", "$5.00")
	put(t, dir, 3, 8)
	contains(t, output(t, "init", dir, store), "commit 8 is in the store")
	contains(t, output(t, "status", store), "commit 8 ", "epoch 2 ", "epoch 1 ")
}

func TestInit_refusesOtherDatabases(t *testing.T) {
	dir, store := shipped(t, 3)
	before := output(t, "status", "-json", store)
	fails(t, exitError, []string{"init", newDB(t, 1), store}, "holds database", "does not continue")
	none := filepath.Join(t.TempDir(), "none")
	fails(t, exitError, []string{"init", none, store}, "no database at "+none, "restore")
	if _, err := os.Stat(none); err == nil {
		t.Error("init made the database")
	}
	if after := output(t, "status", "-json", store); after != before {
		t.Errorf("the store was\n%sand is\n%s", before, after)
	}
	s, err := folderstore.Open(store)
	ok(t, err)
	db, err := remote.Open(t.Context(), s, dir, nil)
	ok(t, err)
	fails(t, exitError, []string{"init", dir, store}, "end that process first")
	ok(t, db.Close())
}

func TestStatus_pricesWhatIsStored(t *testing.T) {
	_, store := shipped(t, 100)
	var v statusJSON
	ok(t, json.Unmarshal([]byte(output(t, "status", "-json", "-price-storage", "1e6", store)), &v))
	var sum int64
	for name, u := range v.Usage {
		if name != "all" && name != "past" {
			sum += u.Bytes
		}
	}
	all := v.Usage["all"]
	if sum != all.Bytes || all.Bytes == 0 || v.Epoch != 1 || v.Newest.Commit != 100 ||
		v.PerMonth != float64(all.Bytes)/1e9*1e6 || len(v.Writers) != 1 {
		t.Errorf("got %+v", v)
	}
	contains(t, output(t, "status", "-price-write", "12.5", store), "$12.50", "$32.40")
}

func TestRestore_makesACopy(t *testing.T) {
	dir, store := shipped(t, 20)
	db := filepath.Join(t.TempDir(), "copy")
	contains(t, output(t, "restore", store, db), "from the store")
	wantKeys(t, db, 20)
	fails(t, exitError, []string{"restore", store, db}, db, "a database already", "interrupted")
	wantKeys(t, db, 20)
	fails(t, exitError, []string{"restore", store, dir}, dir)
}

func TestRestore_ofAMoment(t *testing.T) {
	dir, store := shipped(t, 5)
	output(t, "pin", store, "five")
	var five statusJSON
	ok(t, json.Unmarshal([]byte(output(t, "status", "-json", store)), &five))
	put(t, dir, 5, 9)
	output(t, "init", dir, store)
	for _, flags := range [][]string{
		{"-commit", "5"}, {"-pin", "five"}, {"-time", five.Newest.Time},
	} {
		db := filepath.Join(t.TempDir(), "copy")
		output(t, append([]string{"restore", store, db}, flags...)...)
		wantKeys(t, db, 5)
	}
	db := filepath.Join(t.TempDir(), "copy")
	for _, c := range []struct {
		code  int
		flags string
		word  string
	}{
		{exitNotFound, "-commit=99", "status"}, {exitNotFound, "-pin=six", "no pin six"},
		{exitNotFound, "-time=2001-01-01T00:00:00Z", "status"}, {exitUsage, "-time=today", "2026-01-31"},
		{exitUsage, "-commit=5 -pin=five", "exclude"}, {exitUsage, "-commit=-1", "-commit"},
	} {
		fails(t, c.code, append([]string{"restore", store, db}, strings.Fields(c.flags)...), c.word)
	}
}

func TestPins_areMadeListedAndRemoved(t *testing.T) {
	_, store := shipped(t, 4)
	contains(t, output(t, "pin", store, "before-upgrade"), "commit 4 ")
	fails(t, exitError, []string{"pin", store, "before-upgrade"}, "another name")
	contains(t, output(t, "pins", store), " 4 ", "before-upgrade")
	contains(t, output(t, "status", store), "pin ", "before-upgrade")
	fails(t, exitNotFound, []string{"unpin", store, "after"}, "no pin after", "pins")
	output(t, "unpin", store, "before-upgrade")
	if out := output(t, "pins", store); out != "" {
		t.Errorf("left is %s", out)
	}
}

// Files that a compaction has replaced go, except with a pin.
func TestGC_deletesWhatIsTooOld(t *testing.T) {
	dir, store := shipped(t, 50)
	output(t, "pin", store, "keep")
	compact(t, dir)
	output(t, "init", dir, store)
	past := func() int64 {
		var v statusJSON
		ok(t, json.Unmarshal([]byte(output(t, "status", "-json", store)), &v))
		return v.Usage["past"].Bytes
	}
	replaced := past()
	if replaced == 0 {
		t.Fatal("nothing is past, so this tests nothing")
	}
	output(t, "gc", "-retention", "1ns", dir, store)
	if past() < replaced {
		t.Error("a pinned file was deleted")
	}
	output(t, "unpin", store, "keep")
	out := output(t, "gc", "-retention", "1ns", dir, store)
	if left := past(); left >= replaced || strings.HasPrefix(out, "deleted 0 ") {
		t.Errorf("of %d bytes, %d are left: %s", replaced, left, out)
	}
	output(t, "verify", "-deep", store)
}

// Right after init, everything is younger than the retention: gc says what it keeps, why, and until
// when.
func TestGC_saysWhatItKeeps(t *testing.T) {
	dir, store := shipped(t, 50)
	compact(t, dir)
	output(t, "init", dir, store)
	began := time.Now()
	out := output(t, "gc", dir, store)
	_, rest, _ := strings.Cut(out, "restored for 168h0m0s, so the last of it goes with a gc after ")
	until, _, _ := strings.Cut(rest, "\n")
	at, err := time.Parse(time.RFC3339, until)
	if week := 7 * 24 * time.Hour; err != nil || at.Before(began.Add(week-time.Minute)) ||
		at.After(time.Now().Add(week)) || !strings.Contains(out, "kept of the past ") {
		t.Errorf("gc says %q (%v)", out, err)
	}
	output(t, "pin", store, "keep")
	compact(t, dir)
	output(t, "init", dir, store)
	out = output(t, "gc", "-retention", "1ns", dir, store)
	contains(t, out, "until the pin keep is removed")
	if strings.Contains(out, "restored for") {
		t.Errorf("gc says %q", out)
	}
	output(t, "unpin", store, "keep")
	contains(t, output(t, "gc", "-retention", "1ns", dir, store), "nothing is left but")
}

func TestReader_followsUntilInterrupted(t *testing.T) {
	dir, store := shipped(t, 2)
	ctx, interrupt := context.WithCancel(t.Context())
	lines, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, []string{"reader", "-json", "-poll", "1ms", store}, out, io.Discard)
		_ = out.Close()
		ended <- code
	}()
	decoder := json.NewDecoder(lines)
	var first, second readerJSON
	ok(t, decoder.Decode(&first))
	put(t, dir, 2, 3)
	output(t, "init", dir, store)
	for second.Position <= first.Position {
		ok(t, decoder.Decode(&second))
	}
	interrupt()
	_, _ = io.Copy(io.Discard, lines) // more lines may come
	if code := <-ended; code != exitOK || second.Requests <= first.Requests {
		t.Errorf("exit code %d after %+v and %+v", code, first, second)
	}
}

func TestGetAndScan_readFromTheStore(t *testing.T) {
	_, store := shipped(t, 12)
	if got := output(t, "get", store, "key007"); got != "value7" {
		t.Errorf("got %q", got)
	}
	fails(t, exitNotFound, []string{"get", store, "x"}, `"x"`, "not found")
	fails(t, exitNotFound, []string{"get", "-bucket", "a/b", store, "x"}, "-bucket a/b")
	if got := output(t, "scan", "-prefix", "key01", "-limit", "1", store); got != "key010\tvalue10\n" {
		t.Errorf("got %q", got)
	}
	if n := strings.Count(output(t, "scan", store), "\n"); n != 12 {
		t.Errorf("%d lines", n)
	}
}

func TestProbe_saysWhatAStoreIs(t *testing.T) {
	contains(t, output(t, "probe", filepath.Join(t.TempDir(), "new")), "fit")
}

// Objects of others are counted, and those that look like parts of a database are named.
func TestStatus_namesGarbage(t *testing.T) {
	_, store := shipped(t, 3)
	ok(t, os.WriteFile(filepath.Join(store, "readme"), []byte("mine"), 0o600))
	contains(t, output(t, "status", store), "other ", "4 B")
	ok(t, os.Mkdir(filepath.Join(store, "pin"), 0o700))
	ok(t, os.WriteFile(filepath.Join(store, "pin", "odd"), []byte("garbage"), 0o600))
	for _, command := range []string{"status", "pins", "verify"} {
		fails(t, exitDamaged, []string{command, store}, "pin/odd")
	}
	output(t, "restore", store, filepath.Join(t.TempDir(), "copy"))
}

// An object of each kind is changed in turn; verify names it.
func TestVerify_namesWhatIsDamaged(t *testing.T) {
	_, store := shipped(t, 30)
	contains(t, output(t, "verify", store), "commits 0 to 30", "2 log objects")
	for _, pattern := range []string{"log/*1", "log/*2", "data/*/*"} {
		files, err := filepath.Glob(filepath.Join(store, filepath.FromSlash(pattern)))
		ok(t, err)
		if len(files) == 0 {
			t.Fatalf("there is no %s", pattern)
		}
		file := files[0]
		name, err := filepath.Rel(store, file)
		ok(t, err)
		whole, err := os.ReadFile(file)
		ok(t, err)
		ok(t, os.WriteFile(file, whole[:len(whole)-1], 0o600))
		fails(t, exitDamaged, []string{"verify", store}, filepath.ToSlash(name))
		garbled := append([]byte("garbage"), whole[7:]...)
		ok(t, os.WriteFile(file, garbled, 0o600))
		deep := []string{"verify", "-deep", store}
		fails(t, exitDamaged, deep, filepath.Base(name))
		fails(t, exitDamaged, []string{"restore", store, filepath.Join(t.TempDir(), "x")},
			filepath.Base(name))
		ok(t, os.WriteFile(file, whole, 0o600))
	}
	output(t, "verify", "-deep", store)
}
