package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

func TestSync_overLoopback(t *testing.T) {
	a := newStore(t, nil)
	b, c := newStore(t, a), newStore(t, a)
	a.put(item{Name: "milk", Amount: 1})
	addr := a.serveLoopback()
	for range 2 {
		for _, s := range []*store{b, c} {
			output(t, "sync", "-device", s.key, s.db, addr, a.device)
			s.put(item{Name: "from " + s.device[:4], Amount: 1})
		}
	}
	for _, s := range []*store{b, c, b} {
		output(t, "sync", "-device", s.key, s.db, addr, a.device)
	}
	if b.root() != c.root() {
		t.Error("two clients of a server differ")
	}
	fails(t, exitError, []string{"sync", "-device", b.key, b.db, addr, c.device},
		"not the expected peer", "check DEVICE")
}

// A space in an encrypted database is used like any other, with the key of the database.
func TestCommands_openEncryptedDatabases(t *testing.T) {
	dir := t.TempDir()
	s := &store{t: t, db: filepath.Join(dir, "db"), key: filepath.Join(dir, "device")}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(strings.Repeat("0f", 32)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.device = strings.TrimSpace(output(t, "device", s.key))
	output(t, "create", "-key-file", secret, "-device", s.key, s.db, "team")
	for _, args := range [][]string{
		{"grant", "-device", s.key, s.db, s.device, "read"}, {"status", s.db}, {"verify", s.db},
		{"export", "-device", s.key, s.db, filepath.Join(dir, "stick")},
	} {
		fails(t, exitError, args, "key", "-key-file")
		output(t, append(args, "-key-file", secret)...)
	}
	fails(t, exitUsage, []string{"status", "-key-file", s.key, s.db}, "is no key")
	fails(t, exitError, []string{"status", "-key-file", filepath.Join(dir, "none"), s.db}, "none")
}

func TestExport_leavesOutWhatOthersHave(t *testing.T) {
	a, b := diverge(t)
	dir := t.TempDir()
	theirs, rest := filepath.Join(dir, "theirs"), filepath.Join(dir, "rest")
	output(t, "export", "-device", b.key, b.db, theirs)
	a.put(item{Name: "bread"})
	output(t, "export", "-device", a.key, "-for", theirs, a.db, rest)
	whole := execute(t, "", "export", "-device", a.key, a.db, "-")
	small, err := os.ReadFile(rest)
	if err != nil || len(small) >= len(whole.out) {
		t.Errorf("what b lacks takes %d bytes of %d (%v)", len(small), len(whole.out), err)
	}
	r := execute(t, string(small), "import", "-device", b.key, b.db, "-")
	if r.code != exitOK || a.root() != b.root() {
		t.Errorf("after the import, they differ: %s", r.err)
	}
	fails(t, exitDamaged, []string{"export", "-device", a.key, "-for", cutFile(t, rest), a.db, "-"},
		"cut off")
	fails(t, exitDamaged, []string{"import", "-device", b.key, b.db, cutFile(t, theirs)}, "cut off")
}

// Files that were put together are imported one after the other, and what is no file is an error.
func TestImport_ofFilesThatWerePutTogether(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	first := execute(t, "", "export", "-device", a.key, a.db, "-")
	a.put(item{Name: "milk"})
	second := execute(t, "", "export", "-device", a.key, a.db, "-")
	r := execute(t, first.out+second.out, "import", "-device", b.key, b.db, "-")
	if r.code != exitOK || a.root() != b.root() {
		t.Errorf("after the import, they differ: %s", r.err)
	}
	r = execute(t, first.out+"more", "import", "-device", b.key, b.db, "-")
	if r.code == exitOK || !strings.Contains(r.err, "not an export") {
		t.Errorf("exit code %d, %s", r.code, r.err)
	}
}

// cutFile returns the name of a copy of a file that lacks its end.
func cutFile(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		name = filepath.Join(t.TempDir(), "cut")
		err = os.WriteFile(name, data[:60], 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// A database that is open elsewhere, or whose key is not here, can still be exported.
func TestExport_worksWhileAnotherProcessWrites(t *testing.T) {
	a := newStore(t, nil)
	a.use(func(*stoat.DB, *replica.Space) error {
		r := execute(t, "", "export", "-device", a.key, a.db, "-")
		if r.code != exitOK || !strings.Contains(r.err, "warning: left out 1 entry") {
			t.Errorf("exit code %d, stderr %q", r.code, r.err)
		}
		return nil
	})
	r := execute(t, "", "export", "-device", "none", a.db, "-")
	if r.code != exitOK || !strings.Contains(r.err, "not sealed") {
		t.Errorf("exit code %d, stderr %q", r.code, r.err)
	}
}

func TestLog_showsAnEntryInFull(t *testing.T) {
	a, _ := diverge(t)
	var newest entryJSON
	first, _, _ := strings.Cut(output(t, "log", "-json", "-limit", "1", a.db), "\n")
	if err := json.Unmarshal([]byte(first), &newest); err != nil {
		t.Fatal(err)
	}
	if len(newest.Changes) != 1 || newest.Changes[0].Collection != "items" {
		t.Errorf("the newest entry is %+v", newest)
	}
	text := output(t, "log", a.db, newest.Log[:8]+":"+"1")
	for _, word := range []string{newest.Log, newest.Device, newest.Hash, "items milk", "note = oat"} {
		if !strings.Contains(text, word) {
			t.Errorf("an entry in full lacks %q:\n%s", word, text)
		}
	}
	if n := strings.Count(output(t, "log", a.db, newest.Log), "\n"); n != 2 {
		t.Errorf("the log of b has %d of 2 entries", n)
	}
	fails(t, exitNotFound, []string{"log", a.db, newest.Log + ":99"}, "0 to 1")
}

func TestConflicts_listsAllValues(t *testing.T) {
	a, b := diverge(t)
	text := output(t, "conflicts", a.db)
	for _, word := range []string{"items milk note, answer wanted", "* ", "oat", `"two bottles"`,
		a.device[:12], b.device[:12]} {
		if !strings.Contains(text, word) {
			t.Errorf("conflicts lack %q:\n%s", word, text)
		}
	}
	if output(t, "conflicts", b.db) != text {
		t.Error("the other replica lists something else")
	}
}

func TestWhy_saysWhoDecided(t *testing.T) {
	a, b := diverge(t)
	text := output(t, "why", a.db, "items", "milk")
	for _, word := range []string{"amount = 3", "sum of 2 changes", "note = oat", "tags = [cold]",
		"history:", `note = "two bottles"`} {
		if !strings.Contains(text, word) {
			t.Errorf("why lacks %q:\n%s", word, text)
		}
	}
	if n := strings.Count(output(t, "why", "-json", b.db, "items", "milk"), "\n"); n != 2 {
		t.Errorf("JSON has %d of 2 revisions", n)
	}
	fails(t, exitNotFound, []string{"why", a.db, "items", "bread"}, "bread")
	fails(t, exitNotFound, []string{"why", a.db, "things", "milk"}, "things")
	fails(t, exitUsage, []string{"why", a.db, "items", "[1"}, "KEY")
}

func TestGrant_andRevoke(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	output(t, "grant", "-device", a.key, a.db, "anyone", "read")
	output(t, "grant", "-device", a.key, "-in", "items", "-own", "-no-delete", "-prefix", `["x", 1]`,
		"-fields", "note,amount", a.db, a.device, "write+invite")
	carry(t, a, b)
	b.put(item{Name: "milk", Amount: 1})
	carry(t, b, a)
	output(t, "revoke", "-device", a.key, a.db, b.device)
	b.put(item{Name: "bread", Amount: 1})
	carry(t, b, a)
	if !strings.Contains(output(t, "why", a.db, "items", "milk"), "amount = 1") {
		t.Error("what was there before the revocation does not count")
	}
	text := output(t, "why", a.db, "items", "bread")
	if !strings.HasPrefix(text, "items bread is not there\n") {
		t.Errorf("what came after the revocation counts:\n%s", text)
	}
	if text := output(t, "void", a.db); !strings.Contains(text, b.device[:12]) ||
		!strings.Contains(output(t, "status", a.db), "void       1 entry") {
		t.Errorf("void entries: %s", text)
	}
	var v struct{ Log string }
	if err := json.Unmarshal([]byte(output(t, "void", "-json", a.db)), &v); err != nil {
		t.Fatal(err)
	}
	if text := output(t, "adopt", "-device", a.key, a.db, v.Log); text !=
		"adopted 1 entry; 0 had been adopted before\n" {
		t.Error(text)
	}
	if !strings.Contains(output(t, "why", a.db, "items", "bread"), "amount = 1") {
		t.Error("what was adopted does not count")
	}
	text = output(t, "grants", a.db)
	for _, word := range []string{"anyone", "read", "write+invite", "revoked", "the whole space"} {
		if !strings.Contains(text, word) {
			t.Errorf("the grants lack %q:\n%s", word, text)
		}
	}
	carry(t, a, b)
	fails(t, exitError, []string{"grant", "-device", b.key, b.db, b.device, "admin"}, "cannot grant")
	fails(t, exitError, []string{"revoke", "-device", a.key, a.db, b.device}, "no grant")
	fails(t, exitUsage, []string{"grant", "-device", a.key, a.db, b.device, "rite"}, `"rite"`)
	fails(t, exitUsage, []string{"grant", "-device", a.key, a.db, "12", "read"}, "64")
}

func TestGraph_drawsAValidPicture(t *testing.T) {
	a, b := diverge(t)
	b.put(item{Name: "milk", Note: "<oat> & \"soy\""})
	carry(t, b, a)
	svg := output(t, "graph", "-svg", a.db)
	d := xml.NewDecoder(strings.NewReader(svg))
	counts := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in:\n%s", err, svg)
		}
		if start, ok := token.(xml.StartElement); ok {
			counts[start.Name.Local]++
		}
	}
	if counts["line"] != 2 || counts["circle"] != 4+6 || counts["path"] != 1+2 {
		t.Errorf("it has %v", counts)
	}
	text := output(t, "graph", a.db)
	if strings.Count(text, "●") != 6 || !strings.Contains(text, "┤") && !strings.Contains(text, "├") {
		t.Errorf("the text is\n%s", text)
	}
}

func TestVerify_findsWhatWasChanged(t *testing.T) {
	a, _ := diverge(t)
	if text := output(t, "verify", a.db); strings.Count(text, "\n") != 2 {
		t.Errorf("it prints %s", text)
	}
	damage := func(bucket string, fn func(b *stoat.Bucket, key, value []byte) error) {
		t.Helper()
		a.use(func(db *stoat.DB, _ *replica.Space) error {
			return db.Update(func(tx *stoat.Tx) error {
				root, err := tx.Bucket([]byte("replica"))
				if err != nil {
					return err
				}
				space, err := root.Bucket([]byte("team"))
				if err != nil {
					return err
				}
				b, err := space.Bucket([]byte(bucket))
				if err != nil {
					return err
				}
				var last, of []byte
				for key, value := range b.Scan(stoat.Range{}) {
					last, of = append(last[:0], key...), append(of[:0], value...)
				}
				return fn(b, last, of)
			})
		})
	}
	damage("states", func(b *stoat.Bucket, key, _ []byte) error { return b.Delete(key) })
	fails(t, exitDamaged, []string{"verify", a.db}, "another state")
	output(t, "verify", "-quick", a.db)
	damage("entries", func(b *stoat.Bucket, key, value []byte) error {
		value[len(value)-1] ^= 1
		return b.Put(key, value)
	})
	fails(t, exitDamaged, []string{"verify", a.db}, "log ", "entry 1")
}

// One key file, two folders, two processes: each writes a log of its own, and they may even sync
// with each other.
func TestSync_ofTwoFoldersOfOneDevice(t *testing.T) {
	a := newStore(t, nil)
	b := newStore(t, a)
	c := &store{t: t, db: filepath.Join(t.TempDir(), "db"), key: b.key, device: b.device}
	output(t, "join", "-device", c.key, c.db, "again", a.id())
	addr := a.serveLoopback()
	visit := func(s *store) { output(t, "sync", "-device", s.key, s.db, addr, a.device) }
	visit(b)
	visit(c)
	b.put(item{Name: "milk", Amount: 1})
	c.put(item{Name: "milk", Amount: 10})
	direct := start(t, "", nil, "serve", "-device", b.key, "-listen", "127.0.0.1:0", b.db)
	other := direct.listens()
	for range 2 {
		output(t, "sync", "-device", c.key, c.db, other, b.device)
	}
	direct.stop()
	b.put(item{Name: "tea", Amount: 1})
	visit(c)
	visit(b)
	visit(c)
	if b.root() != c.root() {
		t.Error("they differ")
	}
	if text := output(t, "why", c.db, "items", "milk"); strings.Count(text, "amount") < 2 {
		t.Errorf("the milk is\n%s", text)
	}
	if text := output(t, "heads", c.db); strings.Contains(text, "cut") {
		t.Errorf("a log has forked:\n%s", text)
	}
}
