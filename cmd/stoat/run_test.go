package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
)

func TestRun_withoutACommandIsAMistake(t *testing.T) {
	fails(t, execute(t, ""), exitUsage, "no command", "stoat help")
	fails(t, execute(t, "", "gte"), exitUsage, `"gte"`, "stoat help")
}

func TestRun_refusesWrongArguments(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	for _, args := range [][]string{
		{"get", db},
		{"get", db, "a", "b"},
		{"get", "-colour", db, "a"},
		{"get", db, "a", "-bucket"},
		{"get", "-bucket", "a//b", db, "a"},
		{"get", "-hex", db, "xyz"},
		{"get", "-base64", db, "???"},
		{"get", "-hex", "-base64", db, "00"},
		{"get", "-json", "-raw", db, "a"},
		{"get", "", "a"},
		{"put", db, "a"},
		{"put", db, "a", "-1"},
		{"del", db},
		{"scan"},
		{"scan", db, "-limit", "-1"},
		{"scan", db, "-limit", "few"},
		{"keys", db, "-hex", "-start", "x"},
		{"buckets"},
		{"stats"},
		{"dump"},
		{"load"},
		{"bulk-load"},
		{"import", db},
		{"compact"},
		{"salvage", db},
		{"salvage", "", db},
		{"tour", "here"},
		{"help", "gte"},
		{"version", "1"},
	} {
		t.Run(strings.Join(args[:1], " "), func(t *testing.T) {
			r := execute(t, "", args...)
			fails(t, r, exitUsage, "stoat help "+args[0])
			if r.out != "" {
				t.Errorf("stdout %q, want nothing", r.out)
			}
		})
	}
}

func TestRun_countsTheArguments(t *testing.T) {
	fails(t, execute(t, "", "get", "db"), exitUsage,
		"get: 1 argument, usage: stoat get [flags] DB KEY")
	fails(t, execute(t, "", "scan"), exitUsage, "scan: 0 arguments, usage")
}

func TestRun_takesFlagsAnywhere(t *testing.T) {
	db := sample(t)
	for _, args := range [][]string{
		{"get", "-bucket", "a/b", db, "deep"},
		{"get", db, "--bucket", "a/b", "deep"},
		{"get", db, "deep", "-bucket=a/b"},
	} {
		equal(t, output(t, args...), "in b")
	}
}

func TestRun_takesArgumentsThatStartWithADash(t *testing.T) {
	db := filepath.Join(t.TempDir(), "db")
	fails(t, execute(t, "", "put", db, "-key", "value"), exitUsage, "-- before")
	output(t, "put", db, "--", "-key", "-value")
	equal(t, output(t, "get", db, "--", "-key"), "-value")
	equal(t, output(t, "get", "-bucket=", db, "--", "-key"), "-value")
}

// fullDisk is a writer on which there is no room.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestRun_reportsThatTheOutputCannotBeWritten(t *testing.T) {
	db := sample(t)
	var complaint strings.Builder
	if code := run([]string{"scan", db}, nil, fullDisk{}, &complaint); code != exitError {
		t.Errorf("exit code %d, want %d", code, exitError)
	}
	if !strings.Contains(complaint.String(), "disk full") {
		t.Errorf("stderr %q, want the reason", complaint.String())
	}
}

func TestRun_reportsAMissingDatabaseAndCreatesNone(t *testing.T) {
	db := filepath.Join(t.TempDir(), "none.db")
	for _, args := range [][]string{
		{"get", db, "a"},
		{"del", db, "a"},
		{"scan", db},
		{"keys", db},
		{"buckets", db},
		{"stats", db},
		{"dump", db},
		{"compact", db},
	} {
		fails(t, execute(t, "", args...), exitError, "no database at "+db, "stoat put")
		if files, err := filepath.Glob(filepath.Join(filepath.Dir(db), "*")); err != nil || files != nil {
			t.Errorf("stoat %q created %q (%v)", args, files, err)
		}
	}
}

func TestRun_takesAFolderWithoutADatabaseForAMissingOne(t *testing.T) {
	empty, locked := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(locked, "LOCK"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, db := range []string{empty, locked} {
		fails(t, execute(t, "", "scan", db), exitError, "no database at "+db, "stoat put")
	}
}

// fileOf returns a file of the database that matches the pattern.
func fileOf(t testing.TB, db, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(db, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("no %s in %s (%v)", pattern, db, err)
	}
	return files[0]
}

func remove(t testing.TB, file string) {
	t.Helper()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
}

// flip changes a bit in the middle of a file.
func flip(t testing.TB, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestRun_readsAroundAMissingTable(t *testing.T) {
	db := sample(t)
	remove(t, fileOf(t, db, "*.table"))
	for _, args := range [][]string{{"get", db, "ant"}, {"scan", db}, {"keys", db}, {"dump", db}} {
		fails(t, execute(t, "", args...), exitDamaged, ".table", "restore a backup")
	}
	r := execute(t, "", "buckets", db) // lie in another table
	if r.code != exitOK || !strings.HasPrefix(r.err, "stoat: warning: some of the database") {
		t.Errorf("buckets: exit code %d, stderr %s", r.code, r.err)
	}
	for _, args := range [][]string{
		{"put", db, "ant", "1"}, {"del", db, "ant"}, {"load", db}, {"compact", db},
	} {
		r := execute(t, `{"stoat":2}`, args...)
		fails(t, r, exitDamaged, "database at "+db+" is damaged: ", "restore a backup")
	}
}

// A standby, and a database in object storage larger than its disk, have files only in the store.
func TestRun_doesNotAdviseToSalvageWhatIsInAStore(t *testing.T) {
	db := sample(t)
	remove(t, fileOf(t, db, "*.table"))
	if err := os.WriteFile(filepath.Join(db, folder.ClaimPrefix+"000001"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"put", db, "ant", "1"}, {"compact", db}, {"get", db, "ant"}, {"scan", db}, {"dump", db},
		{"check", db},
	} {
		r := execute(t, "", args...)
		r.err += r.out // where check has it
		fails(t, r, exitDamaged, "open it with package remote", "stoat remote get")
		if strings.Contains(r.err, "stoat salvage") || strings.Contains(r.err, "restore a backup") {
			t.Errorf("%s advises to salvage: %s", args[0], r.err)
		}
	}
}

// A standby may be asked where the database is, and has it in no folder.
func TestRun_saysWhatACacheIs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{folder.LockName, "000001" + folder.CacheSuffix} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"get", dir, "ant"}, {"scan", dir}, {"put", dir, "ant", "1"}, {"stats", dir}, {"check", dir},
	} {
		fails(t, execute(t, "", args...), exitError, "is the cache", "stoat remote get")
	}
}

// A restore that was killed is no damage, and there is nothing to salvage.
func TestRun_saysWhatAnUnfinishedRestoreIs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{folder.UnfinishedName, "000001.table"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"get", dir, "ant"}, {"put", dir, "ant", "1"}, {"check", dir}} {
		r := execute(t, "", args...)
		fails(t, r, exitError, "has not come to its end", "run that again")
		if strings.Contains(r.err, "salvage") {
			t.Errorf("%s advises to salvage: %s", args[0], r.err)
		}
	}
}

func TestRun_saysThatADatabaseIsDamaged(t *testing.T) {
	for _, c := range []struct {
		file   string
		damage func(t testing.TB, file string)
	}{
		{"MANIFEST-*", remove},
		{"MANIFEST-*", flip},
	} {
		db := sample(t)
		c.damage(t, fileOf(t, db, c.file+"[0-9]"))
		r := execute(t, "", "get", db, "ant")
		if r.code != exitOK || !strings.Contains(r.err, "warning: the copy of the manifest is used") {
			t.Errorf("with the copy of the manifest: exit code %d, stderr %s", r.code, r.err)
		}
		c.damage(t, fileOf(t, db, c.file+".copy"))
		for _, args := range [][]string{
			{"get", db, "ant"},
			{"put", db, "ant", "1"},
			{"del", db, "ant"},
			{"scan", db},
			{"keys", db},
			{"buckets", db},
			{"stats", db},
			{"dump", db},
			{"load", db},
			{"bulk-load", db},
			{"compact", db},
		} {
			r := execute(t, `{"stoat":2}`, args...)
			fails(t, r, exitDamaged, "database at "+db+" is damaged: ", "restore a backup")
			if strings.Contains(r.err, "no database") {
				t.Errorf("stoat %q: %s", args, r.err)
			}
		}
	}
}

func TestRun_saysWhatToDoAboutDamageFoundLater(t *testing.T) {
	db := sample(t)
	file := fileOf(t, db, "*.table")
	flip(t, file)
	fails(t, execute(t, "", "dump", db), exitDamaged, "corrupt data in "+file, "restore a backup")
}

func TestHelp_saysAllAboutEachCommand(t *testing.T) {
	overview := output(t, "help")
	equal(t, output(t, "-h"), overview)
	equal(t, output(t, "--help"), overview)
	for _, line := range strings.Split(overview, "\n") {
		if len(line) > 80 {
			t.Errorf("help has a line of %d columns: %s", len(line), line)
		}
	}
	for _, c := range commands() {
		text := output(t, "help", c.Name)
		equal(t, output(t, c.Name, "-h"), text)
		if listed := strings.Contains(overview, "  "+c.Name+" "); listed == c.Hidden {
			t.Errorf("%s in the overview: %v, hidden: %v", c.Name, listed, c.Hidden)
		}
		for _, line := range strings.Split(text, "\n") {
			if len(line) > 80 {
				t.Errorf("help %s has a line of %d columns: %s", c.Name, len(line), line)
			}
		}
	}
	for _, part := range []string{
		"usage: stoat scan [flags] DB\n", "-bucket PATH  ", "-limit N  ", "-reverse  ",
	} {
		if text := output(t, "help", "scan"); !strings.Contains(text, part) {
			t.Errorf("help scan lacks %q:\n%s", part, text)
		}
	}
}

func TestVersion_namesTheProgramAndTheToolchain(t *testing.T) {
	text := output(t, "version")
	if !strings.HasPrefix(text, "stoat ") || !strings.Contains(text, " go1") {
		t.Errorf("version prints %q", text)
	}
	equal(t, output(t, "-version"), text)
}
