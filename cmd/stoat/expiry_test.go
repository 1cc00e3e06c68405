package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

// putIn stores "key" as a program whose clock shows now does, to expire in 292 years.
func putIn(t testing.TB, now time.Time) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "db")
	clock := func() time.Time { return now }
	db, err := tuned.Open(vfs.OS(), dir, nil, engine.Tuning{Now: clock})
	if err == nil {
		err = db.PutTTL([]byte("key"), []byte("v"), math.MaxInt64)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestCommands_tellAnyMomentOfExpiry(t *testing.T) {
	date := func(year int) time.Time { return time.Date(year, 1, 2, 3, 4, 5, 678e6, time.UTC) }
	for _, c := range []struct {
		now  time.Time
		want string
	}{
		{date(5000), "5292-04-12T02:51:22.533Z"},
		{date(9900), "9999-12-31T23:59:59.999Z"},
		{date(20_000), "9999-12-31T23:59:59.999Z"},
		{time.UnixMilli(math.MaxInt64 - 1000), "9999-12-31T23:59:59.999Z"},
	} {
		db := putIn(t, c.now)
		file, to := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "to")
		for _, args := range [][]string{
			{"ttl", "-json", db, "key"}, {"get", "-json", db, "key"}, {"keys", "-json", db},
			{"keys", "-expires", db}, {"scan", "-expires", db}, {"scan", "-json", db}, {"dump", db},
			{"export", "-jsonl", "-", db}, {"export", "-csv", "-", db},
		} {
			if text := output(t, args...); !strings.Contains(text, c.want) {
				t.Errorf("from %v on: %s is not in what %s prints: %s", c.now, c.want, args[0], text)
			}
		}
		output(t, "export", "-jsonl", file, db)
		output(t, "import", to, "-key", "key", "-value", "value", "-expires", "expires", "-jsonl", file)
		again := filepath.Join(t.TempDir(), "again")
		if r := execute(t, output(t, "dump", db), "load", again); r.code != exitOK {
			t.Error(r.err)
		}
		equal(t, output(t, "dump", again), output(t, "dump", to))
	}
}

func TestImport_leavesOutTimesOfExpiryThatNoDatabaseTakes(t *testing.T) {
	file := written(t, "{\"k\":\"a\",\"e\":\"9999-12-31T23:59:59-10:00\"}\n"+
		"{\"k\":\"b\",\"e\":\"9999-12-31T23:59:59Z\"}\n")
	db := filepath.Join(t.TempDir(), "db")
	args := []string{"import", "-jsonl", file, "-key", "k", "-expires", "e", db}
	fails(t, execute(t, "", args...), exitError, "line 1", "the year 9999")
	output(t, append(args[:len(args)-1:len(args)-1], "-skip-bad", "-restart", db)...)
	equal(t, output(t, "keys", db), "b\n")
}
