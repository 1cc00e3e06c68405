package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/testing/symlink"
)

// A key file of another device begins no log in its name.
func TestUpdate_refusesTheKeyOfAnotherDevice(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	before := output(t, "heads", b.db)
	addr := a.serveLoopback()
	for _, args := range [][]string{
		{"sync", b.db, addr, a.device}, {"export", b.db, "-"}, {"serve", b.db},
		{"checkpoint", b.db}, {"grant", b.db, b.device, "write"},
	} {
		fails(t, exitError, append(args, "-device", a.key), b.device, a.device, "-device")
	}
	if after := output(t, "heads", b.db); after != before {
		t.Errorf("the logs were\n%sand are\n%s", before, after)
	}
}

// An empty variable of a script makes no command do more than was meant.
func TestFlags_thatNarrowAreNotEmpty(t *testing.T) {
	a := newStore(t, nil)
	a.put(item{Name: "milk", Amount: 1})
	before := output(t, "heads", a.db)
	for _, flag := range []string{"-in", "-prefix", "-fields"} {
		fails(t, exitUsage, []string{"grant", "-device", a.key, a.db, a.device, "write", flag, ""}, flag)
	}
	for _, flag := range []string{"-in", "-log", "-by", "-key"} {
		fails(t, exitUsage, []string{"revert", "-device", a.key, "-since", "1h", flag, "", a.db}, flag)
	}
	join := []string{"join", "-device", a.key, a.db, "x", a.id(), "-collections", ""}
	fails(t, exitUsage, join, "-collections")
	if after := output(t, "heads", a.db); after != before {
		t.Errorf("the logs were\n%sand are\n%s", before, after)
	}
}

func TestUnknownCollection_listsThoseThatExist(t *testing.T) {
	a := newStore(t, nil)
	fails(t, exitNotFound, []string{"why", a.db, "items", "milk"}, "no entry", "items")
	a.put(item{Name: "milk", Amount: 1})
	fails(t, exitNotFound, []string{"why", a.db, "itms", "milk"}, "no such collection", `["items"]`)
	fails(t, exitNotFound, []string{"revert", "-device", a.key, "-in", "itms", a.db},
		"no such collection", `["items"]`)
}

// Spaces and devices have ids that look alike.
func TestIDs_ofTheOtherKindAreRefused(t *testing.T) {
	a := newStore(t, nil)
	join := []string{"join", "-device", a.key, filepath.Join(t.TempDir(), "new"), "team", a.device}
	fails(t, exitUsage, join, "is this device")
	fails(t, exitUsage, []string{"grant", "-device", a.key, a.db, a.id(), "write"}, "is the space")
}

func TestExport_namesTheFileThatItCannotWrite(t *testing.T) {
	a := newStore(t, nil)
	name := filepath.Join(t.TempDir(), "none", "file")
	fails(t, exitError, []string{"export", "-device", a.key, a.db, name}, name+": no such file")
}

func TestJoin_saysWhichSpaceHasTheName(t *testing.T) {
	a := newStore(t, nil)
	for _, args := range [][]string{{"create", a.db, "team"}, {"join", a.db, "team", a.id()}} {
		fails(t, exitError, append(args, "-device", a.key), a.id(), "another name")
	}
}

func TestSync_saysWhatToCheck(t *testing.T) {
	a, other := newStore(t, nil), newStore(t, nil)
	addr := a.serveLoopback()
	fails(t, exitError, []string{"sync", "-device", other.key, other.db, addr, a.device},
		"no space in common", "stoat replica status")
	fails(t, exitError, []string{"sync", "-device", other.key, other.db, "127.0.0.1:1", a.device},
		"stoat replica serve")
}

// An address of the wrong kind: the message says what the server speaks, and what to give.
func TestSync_saysWhatTheServerSpeaks(t *testing.T) {
	a, other := newStore(t, nil), newStore(t, nil)
	b := newStore(t, a)
	secure := a.serveLoopback()
	server := start(t, "", nil, "serve", "-device", other.key, "-listen", "", "-http", "127.0.0.1:0",
		other.db)
	web := strings.TrimPrefix(server.listens(), "http://")
	for _, try := range [][]string{
		{"http://" + secure, "speaks TLS", "use https://" + secure, secure + " and DEVICE"},
		{"https://" + secure, "use " + secure + " and DEVICE"},
		{"https://" + web, "use http://" + web},
		{web, "use http://" + web},
		{"http://" + web, "no space in common"},
	} {
		fails(t, exitError, []string{"sync", "-device", b.key, b.db, try[0], a.device}, try[1:]...)
	}
	fails(t, exitError, []string{"sync", "-post", "-device", b.key, b.db, "http://" + secure},
		"use https://"+secure)
	server.stop()
}

// What is wrong with the arguments leaves no database behind, nor what is wrong with the key file.
func TestCreate_ofBadArgumentsLeavesNothing(t *testing.T) {
	a := newStore(t, nil)
	db := filepath.Join(t.TempDir(), "new.db")
	long := strings.Repeat("n", 256)
	for _, args := range [][]string{
		{"create", db, "a/b"}, {"create", db, ""}, {"create", db, long},
		{"create", db, "x", "-root", a.device, "-root", a.device},
		{"create", db, "x", "-device", filepath.Join(t.TempDir(), "none")},
		{"join", db, "a/b", a.id()}, {"join", db, "x", a.id(), "-collections", long},
	} {
		if !slices.Contains(args, "-device") {
			args = append(args, "-device", a.key)
		}
		if r := execute(t, "", args...); r.code == exitOK {
			t.Errorf("%.100q succeeds", args)
		}
		if _, err := os.Stat(db); err == nil {
			t.Errorf("%.100q makes the database", args)
		}
	}
	output(t, "create", "-device", a.key, db, "x")
}

func TestJoin_takesNamesOfCollections(t *testing.T) {
	a := newStore(t, nil)
	db := filepath.Join(t.TempDir(), "db")
	join := []string{"join", "-device", a.key, db, "x", a.id(), "-collections"}
	fails(t, exitUsage, append(join, "items,,x"), "empty name")
	if _, err := os.Stat(db); err == nil {
		t.Error("it made the database")
	}
	output(t, append(join, "items, a list")...)
	if text := output(t, "status", db); !strings.Contains(text, "holds      \"a list\", items\n") {
		t.Errorf("status is\n%s", text)
	}
}

func TestSync_saysWhatArrived(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	a.put(item{Name: "milk", Amount: 1})
	addr := a.serveLoopback()
	sync := []string{"sync", "-device", b.key, b.db, addr, a.device}
	if out := output(t, sync...); out != "3 entries arrived\n" { // its genesis, a grant, and the milk
		t.Errorf("got %q", out)
	}
	if out := output(t, sync...); out != "0 entries arrived\n" {
		t.Errorf("got %q", out)
	}
}

// Reasons and acts are whole, in lines that fit.
func TestVoid_showsTheWholeReason(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	carry(t, a, b)
	output(t, "revoke", "-device", a.key, a.db, b.device)
	b.put(item{Name: "late", Amount: 1})
	carry(t, b, a)
	out := output(t, "void", a.db)
	words := strings.Join(strings.Fields(out), " ")
	if !strings.Contains(words, "items the device "+b.device[:shortDigits]+" may not write to") ||
		!strings.Contains(words, "was revoked") {
		t.Errorf("got\n%s", out)
	}
	log := output(t, "log", a.db)
	for _, act := range []string{"grants write to " + b.device[:6], "revokes grant "} {
		if !strings.Contains(log, act) {
			t.Errorf("no %q in\n%s", act, log)
		}
	}
	for line := range strings.Lines(out + log + output(t, "why", a.db, "items", "late")) {
		if n := len([]rune(line)) - 1; n > columns.Max {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// The space to work on is never another one than was meant, and its name controls no terminal.
func TestSpaceFlag_isNeitherEmptyNorRaw(t *testing.T) {
	a := newStore(t, nil)
	for _, command := range []string{"status", "serve", "grants", "heads"} {
		fails(t, exitUsage, []string{command, "-space", "", a.db}, "-space")
	}
	output(t, "create", "-device", a.key, a.db, "\x1b[2J")
	fails(t, exitUsage, []string{"grants", a.db}, "choose with -space", `"\x1b[2J"`)
}

// A database that cannot be created, behind a link that leads nowhere, is not one to be created.
func TestCreate_saysWhatKeepsItFromTheDisk(t *testing.T) {
	a := newStore(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	symlink.Make(t, "nowhere", link)
	r := execute(t, "", "create", "-device", a.key, filepath.Join(link, "db"), "team")
	if r.code == 0 || strings.Contains(r.err, "create one with") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
