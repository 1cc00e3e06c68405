package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/replica"
)

func TestPrune_forgetsHistoryBehindACheckpoint(t *testing.T) {
	a := newStore(t, nil)
	fails(t, exitNotFound, []string{"prune", "-device", a.key, a.db}, "stoat replica checkpoint")
	a.put(item{Name: "milk", Amount: 1})
	a.put(item{Name: "milk", Amount: 2})
	output(t, "checkpoint", "-device", a.key, a.db)
	output(t, "export", "-device", a.key, a.db, filepath.Join(t.TempDir(), "f")) // seals
	before := a.root()
	if text := output(t, "prune", "-device", a.key, a.db); text != "pruned behind checkpoint 1\n" {
		t.Error(text)
	}
	if a.root() != before {
		t.Error("the records are others")
	}
	if text := output(t, "verify", a.db); !strings.Contains(text, "seals of 4 entries hold") {
		t.Errorf("verify says\n%s", text)
	}
	a.put(item{Name: "milk", Amount: 3})
	for _, args := range [][]string{{"log", a.db}, {"why", a.db, "items", "milk"}} {
		if text := output(t, args...); !strings.Contains(text, "amount +1") ||
			strings.Contains(text, "amount +2") {
			t.Errorf("%v says\n%s", args, text)
		}
	}
	b := newStore(t, a)
	carry(t, a, b)
	if b.root() != a.root() {
		t.Error("a file of the pruned replica leads to other records")
	}
}

func TestEndorse_completesAQuorum(t *testing.T) {
	dir := t.TempDir()
	a := &store{t: t, db: filepath.Join(dir, "a"), key: filepath.Join(dir, "ka")}
	b := &store{t: t, db: filepath.Join(dir, "b"), key: filepath.Join(dir, "kb")}
	for _, s := range []*store{a, b} {
		s.device = strings.TrimSpace(output(t, "device", s.key))
	}
	output(t, "create", "-device", a.key, "-quorum", "2", "-root", a.device, "-root", b.device, a.db,
		"team")
	output(t, "join", "-device", b.key, b.db, "group", a.id())
	fails(t, exitUsage, []string{"create", "-device", a.key, "-quorum", "3", a.db, "x"}, "-quorum")
	output(t, "grant", "-device", a.key, a.db, "anyone", "read")
	carry(t, a, b)
	var g grantJSON
	if err := json.Unmarshal([]byte(output(t, "grants", "-json", b.db)), &g); err != nil || g.Active {
		t.Fatalf("one root has granted alone: %+v (%v)", g, err)
	}
	at := fmt.Sprintf("%s:%d", g.Log, g.Seq)
	fails(t, exitUsage, []string{"endorse", "-device", b.key, b.db, g.Log}, "LOG:SEQ")
	output(t, "endorse", "-device", b.key, b.db, at)
	if err := json.Unmarshal([]byte(output(t, "grants", "-json", b.db)), &g); err != nil || !g.Active {
		t.Errorf("both roots have agreed: %+v (%v)", g, err)
	}
}

// A stick that lacks what its entries follow: status says what waits, and for what.
func TestStatus_showsWhatWaits(t *testing.T) {
	a := newStore(t, nil)
	b, c := newStore(t, a), newStore(t, a)
	carry(t, a, b)
	carry(t, a, c)
	carry(t, c, b)
	a.put(item{Name: "milk", Amount: 1})
	carry(t, a, c)
	c.put(item{Name: "bread", Amount: 1})
	dir := t.TempDir()
	theirs, rest := filepath.Join(dir, "theirs"), filepath.Join(dir, "rest")
	output(t, "export", "-device", a.key, a.db, theirs)
	output(t, "export", "-device", c.key, "-for", theirs, c.db, rest)
	fails(t, exitError, []string{"import", "-device", b.key, b.db, rest}, "missing")
	text := output(t, "status", b.db)
	if !strings.Contains(text, "waiting    1 entry\n") || !strings.Contains(text, "is missing") {
		t.Errorf("status is\n%s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > columns.Max {
			t.Errorf("it has a line of %d columns: %s", len(line), line)
		}
	}
	var v statusJSON
	err := json.Unmarshal([]byte(output(t, "status", "-json", b.db)), &v)
	if err != nil || v.Waiting != 1 || v.Missing != 1 || v.Ended != 0 {
		t.Errorf("JSON is %+v (%v)", v, err)
	}
}

// The names of collections come from others, who may put anything into them.
func TestVoid_quotesNames(t *testing.T) {
	text := voidText(&replica.Void{Collections: []string{"\x1b[2J"}, Reason: "none"})
	if strings.Contains(text, "\x1b") {
		t.Errorf("it prints %q", text)
	}
}

func TestSync_startsFromACheckpoint(t *testing.T) {
	a := newStore(t, nil)
	a.put(item{Name: "milk", Amount: 1})
	a.put(item{Name: "milk", Amount: 2})
	output(t, "checkpoint", "-device", a.key, a.db)
	output(t, "export", "-device", a.key, a.db, filepath.Join(t.TempDir(), "f")) // seals
	b, c := newStore(t, a), newStore(t, a)
	addr := a.serveLoopback()
	fails(t, exitUsage, []string{"sync", "-post", "-from-checkpoint", "-device", b.key, b.db,
		"http://" + addr}, "-from-checkpoint")
	output(t, "sync", "-from-checkpoint", "-device", b.key, b.db, addr, a.device)
	output(t, "sync", "-device", c.key, c.db, addr, a.device)
	if b.root() != c.root() {
		t.Error("the records are others")
	}
	if text := output(t, "log", b.db); strings.Contains(text, "amount") {
		t.Errorf("it has the history\n%s", text)
	}
	if text := output(t, "log", c.db); !strings.Contains(text, "amount +1") {
		t.Errorf("without the flag, it has no history\n%s", text)
	}
}
