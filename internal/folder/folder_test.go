package folder

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

func TestParse_readsWhatNameWrites(t *testing.T) {
	for kind := Manifest; kind < kinds; kind++ {
		for _, n := range []uint64{0, 7, 999_999, 1_000_000, math.MaxInt64} {
			if got, number := Parse(kind.Name(n)); got != kind || number != n {
				t.Errorf("%s is read as %s %d", kind.Name(n), got, number)
			}
		}
	}
}

func TestName_isThatOfTheFormat(t *testing.T) {
	for want, got := range map[string]string{
		"MANIFEST-000012":      Manifest.Name(12),
		"MANIFEST-000012.copy": ManifestCopy.Name(12),
		"000013.log":           Log.Name(13),
		"000014.table":         Table.Name(14),
		"000015.values":        Values.Name(15),
		"1234567.table":        Table.Name(1234567),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestParse_refusesOtherNames(t *testing.T) {
	for _, digits := range []string{
		"", "1", "00001", "0000001", "+00001", "-00001", "00000x", " 00001", "1_00000",
		"9223372036854775808", "99999999999999999999",
	} {
		for _, name := range []string{
			digits, digits + ".log", digits + ".table", digits + ".values",
			"MANIFEST-" + digits, "MANIFEST-" + digits + ".copy",
		} {
			if kind, number := Parse(name); kind != Other {
				t.Errorf("%q is read as %s %d", name, kind, number)
			}
		}
	}
	for _, name := range []string{
		"", ".log", "MANIFEST-", "000001", "000001.sst", "000001.values~", "13.log",
		"manifest-000001", "MANIFEST-000001.log", "000001.copy",
		"000001.log.copy", LockName, UnfinishedName,
	} {
		if kind, number := Parse(name); kind != Other {
			t.Errorf("%q is read as %s %d", name, kind, number)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("MANIFEST-000012")
	f.Add("MANIFEST-000012.copy")
	f.Add("0000013.log")
	f.Fuzz(func(t *testing.T, name string) {
		if kind, number := Parse(name); kind != Other && kind.Name(number) != name {
			t.Errorf("%q is read as %q", name, kind.Name(number))
		}
	})
}

func TestClassify_sortsFilesByKindAndNumber(t *testing.T) {
	names := []string{
		"1000000.log", "000013.log", "000014.table", "MANIFEST-000012", "MANIFEST-000012.copy",
		"000015.values", LockName,
	}
	l := Classify(names)
	if l.Other != "" || l.Unfinished || l.Highest != 1_000_000 {
		t.Errorf("%+v", l)
	}
	if got := l.Of(Log); !slices.Equal(got, []uint64{13, 1_000_000}) {
		t.Errorf("logs %d", got)
	}
	var all []string
	for kind, number := range l.All() {
		all = append(all, kind.Name(number))
		if !l.Has(kind, number) || l.Has(kind, number+1) {
			t.Errorf("%s is there, and nothing after it", kind.Name(number))
		}
	}
	want := []string{
		"MANIFEST-000012", "MANIFEST-000012.copy", "000013.log", "1000000.log", "000014.table",
		"000015.values",
	}
	if !slices.Equal(all, want) {
		t.Errorf("all are %q", all)
	}
	same, fewer := Classify(append(names, "other", UnfinishedName)), Classify(names[1:])
	if !l.Equal(same) || l.Equal(fewer) {
		t.Error("listings are compared by something else than their files")
	}
	if same.Other != "other" || !same.Unfinished {
		t.Errorf("%+v", same)
	}
}

func TestLock_isCreatedOnce(t *testing.T) {
	disk := memfs.New()
	if err := disk.MkdirAll("db"); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(disk, "db"); err == nil {
		t.Fatal("locked without a lock file")
	}
	for range 2 {
		if err := CreateLock(disk, "db"); err != nil {
			t.Fatal(err)
		}
	}
	lock, err := Lock(disk, "db")
	if err != nil {
		t.Fatal(err)
	}
	l, err := List(disk, "db")
	if err != nil || fmt.Sprint(l) != fmt.Sprint(Listing{}) {
		t.Errorf("%+v: %v", l, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
}
