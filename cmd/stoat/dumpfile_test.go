package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// dbFiles returns the files of a database, with at least a table, a manifest and the lock.
func dbFiles(t testing.TB, db string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(db, "*"))
	if err != nil || len(names) < 3 {
		t.Fatalf("the files are %q: %v", names, err)
	}
	return names
}

func TestDumpFile_printsEveryFileOfADatabase(t *testing.T) {
	all := ""
	for _, name := range dbFiles(t, sample(t)) {
		for _, args := range [][]string{{}, {"-blocks"}, {"-json"}, {"-json", "-blocks"}} {
			text := output(t, append([]string{"dump-file", name}, args...)...)
			if strings.Contains(text, "DAMAGE") {
				t.Errorf("%s:\n%s", name, text)
			}
			all += text
		}
	}
	for _, want := range []string{"  table  ", "  manifest  ", "  lock file  ", `put  "bee", 1 byte`,
		`bucket "a" in bucket 0`, `"\xff\x00"`, `{"at":0,"what":"table","bytes":`,
		`"key":{"space":"data","bucket":0,"key":"bee"}`, "no damage found\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("%s is not printed", want)
		}
	}
}

func TestDumpFile_failsForDamage(t *testing.T) {
	for _, name := range dbFiles(t, sample(t)) {
		if filepath.Base(name) == "LOCK" {
			continue
		}
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		content[20] ^= 1
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		r := execute(t, "", "dump-file", name)
		fails(t, r, exitDamaged, name+" is damaged", "stoat check")
		if !strings.Contains(r.out, "DAMAGE  checksum of the header does not match") {
			t.Errorf("%s:\n%s", name, r.out)
		}
	}
}

func TestDumpFile_failsForWhatIsNoFile(t *testing.T) {
	db := sample(t)
	fails(t, execute(t, "", "dump-file", filepath.Join(db, "none")), exitError, "none")
	fails(t, execute(t, "", "dump-file", db), exitError, db)
	fails(t, execute(t, "", "dump-file"), exitUsage, "FILE")
}
