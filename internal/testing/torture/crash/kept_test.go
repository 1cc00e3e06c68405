package crash

import (
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// create creates and syncs a file, but not the directory of its name.
func create(t *testing.T, disk vfs.FS, name string) {
	t.Helper()
	f, err := disk.Create(name)
	if err == nil {
		_, err = f.WriteAt([]byte("value"), 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// names returns the files on a disk.
func names(t *testing.T, disk vfs.FS) []string {
	t.Helper()
	all, err := disk.List(".")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestKept_isNoneAllOrARandomPart(t *testing.T) {
	disk := memfs.NewCrashable()
	for _, name := range []string{"a", "b", "c", "d"} {
		create(t, disk, name)
	}
	if left := names(t, None.Of(disk, nil)); len(left) > 0 {
		t.Errorf("none keeps %q", left)
	}
	all := All.Of(disk, nil)
	if left := names(t, all); len(left) != 4 {
		t.Errorf("all keeps %q", left)
	}
	if left := names(t, None.Of(all, nil)); len(left) > 0 {
		t.Errorf("all makes %q durable, which were not", left)
	}
	rng, parts := Rand(1, "parts"), map[int]bool{}
	for range 50 {
		parts[len(names(t, Random.Of(disk, rng)))] = true
	}
	if len(parts) < 4 {
		t.Errorf("random crashes keep only so many files: %v", parts)
	}
}

func TestKept_hasTheNamesOfCrashes(t *testing.T) {
	var got []string
	for kept := range Kept(4) {
		got = append(got, kept.String())
	}
	if want := []string{"none", "all", "random-2", "random-3"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if Random.String() != "random-2" {
		t.Errorf("Random is %q", Random)
	}
}

func TestAnyKept_isEachOfThem(t *testing.T) {
	rng, drawn := Rand(1, "any"), map[Kept]bool{}
	for range 50 {
		drawn[AnyKept(rng)] = true
	}
	if len(drawn) != 3 || !drawn[None] || !drawn[All] || !drawn[Random] {
		t.Errorf("drawn are %v", drawn)
	}
}

func TestLiar_syncsNoFile(t *testing.T) {
	disk := memfs.NewCrashable()
	create(t, Liar{disk}, "a")
	if err := disk.SyncDir("."); err != nil {
		t.Fatal(err)
	}
	f, err := None.Of(disk, nil).Open("a")
	if err != nil {
		t.Fatal(err)
	}
	if size, err := f.Size(); err != nil || size != 0 {
		t.Errorf("%d bytes of the file are durable, %v", size, err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLiar_hasNoFileThatIsNotCreated(t *testing.T) {
	if f, err := (Liar{memfs.New()}).Create("no such directory/a"); err == nil || f != nil {
		t.Errorf("file %v, %v", f, err)
	}
}
