package stoat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/salvage"
	"github.com/stoatdb/stoat/internal/tuned"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestSalvageReport_fitsOnATerminal(t *testing.T) {
	long := strings.Repeat("long\xff", 50)
	r := &stoat.SalvageReport{Source: long, Destination: long, Values: 5000, Transactions: 3,
		Manifest: "MANIFEST-000012"}
	for range 30 {
		r.Keys = append(r.Keys, stoat.SalvageKey{Bucket: []string{long}, Key: []byte(long), Why: long})
		r.Ranges = append(r.Ranges, stoat.SalvageRange{
			Bucket: []string{long}, Start: []byte(long), End: []byte(long), File: "000012.table",
		})
		r.Problems = append(r.Problems, stoat.SalvageDamage{File: "000012.table", What: long})
		r.Buckets = append(r.Buckets, long)
	}
	text := r.String()
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
			t.Errorf("a line of %d columns: %s", n, line)
		}
	}
	for _, part := range []string{"3 transactions", "and 4980 more", "and 10 more"} {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q:\n%s", part, text)
		}
	}
}

func TestSalvage_makesABranchOfItsOwn(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	ok(t, db.Put([]byte("k"), nil))
	ok(t, db.Close())
	_, err := tuned.Salvage(context.Background(), fs, "db", "new", salvage.Sizes{})
	ok(t, err)
	before, err := manifest.Load(fs, "db")
	ok(t, err)
	after, err := manifest.Load(fs, "new")
	ok(t, err)
	if b, a := before.Version.Branch, after.Version.Branch; b == 0 || a == 0 || a == b {
		t.Errorf("branch %x is salvaged to %x", b, a)
	}
}

func TestSalvage_refusesADatabaseThatIsOpen(t *testing.T) {
	fs := memfs.New()
	db := openOn(t, fs, nil)
	ok(t, db.Put([]byte("k"), nil))
	_, err := tuned.Salvage(context.Background(), fs, "db", "new", salvage.Sizes{})
	wantErr(t, err, stoat.ErrLocked)
	ok(t, db.Close())
}

func TestSalvageReport_countsEverythingThatIsLost(t *testing.T) {
	if r := (&stoat.SalvageReport{Manifest: "MANIFEST-000012", MoreProblems: 1}); r.Lost() {
		t.Errorf("lost: %s", r)
	}
	for _, r := range []stoat.SalvageReport{
		{Older: true}, {Blocks: 1}, {Transactions: 1}, {MoreRanges: 1}, {Values: 1},
		{Ranges: []stoat.SalvageRange{{}}}, {Buckets: []string{"lost-1"}},
	} {
		r.Manifest = "MANIFEST-000012"
		if !r.Lost() || strings.Contains(r.String(), "Nothing is lost") {
			t.Errorf("%+v is no loss: %s", r, r.String())
		}
	}
}
