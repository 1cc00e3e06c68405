package manifest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

var errFault = errors.New("fault")

func TestJournal_isDurableWhenItReturns(t *testing.T) {
	files := newFS(t)
	edits := someEdits()
	versions := outcomes(t, edits)
	j, err := Create(files, testDir, testNumber, testDatabase, versions[0])
	check(t, err)
	for i := range versions {
		s, err := Load(files.CrashKeepNone(), testDir)
		if err != nil || s.Torn || text(s.Version) != text(versions[i]) {
			t.Fatalf("after %d edits: loaded %+v: %v", i, s, err)
		}
		if i < len(edits) {
			check(t, j.Append(edits[i]))
		}
	}
	check(t, j.Close())
}

// TestLoad_recoversAfterACrash crashes before every operation on the disk while manifests are
// written and replaced, in several ways: the loaded version is the one after the last acknowledged
// edit, or after the edit in progress.
func TestLoad_recoversAfterACrash(t *testing.T) {
	rng := newRand(t)
	edits := someEdits()
	for i := range 40 { // long keys make a version span several sectors
		long := tableOf(uint64(100+i), "a", strings.Repeat("k", 200))
		edits = append(edits, &Edit{AddYoung: runOf(long)})
	}
	versions := outcomes(t, edits)
	var texts []string
	for _, v := range versions {
		texts = append(texts, text(v))
	}
	disk := newFS(t)
	acknowledged := -1
	crash := func() {
		t.Helper()
		after := []*memfs.FS{disk.CrashKeepNone(), disk.CrashKeepAll(), disk.Crash(rng), disk.Crash(rng)}
		for _, d := range after {
			s, err := Load(d, testDir)
			if isMissing(err) && acknowledged < 0 {
				continue
			}
			if err != nil {
				t.Fatalf("after %d edits: %v", acknowledged, err)
			}
			got := text(s.Version)
			if !slices.Contains(texts[max(acknowledged, 0):min(acknowledged+2, len(texts))], got) {
				t.Fatalf("after %d edits: loaded %s", acknowledged, got)
			}
		}
	}
	files := faultfs.New(disk, func(op faultfs.Op) error {
		if op.Kind.Mutates() {
			crash()
		}
		return nil
	})
	var j *Journal
	number := uint64(0)
	for i, v := range versions {
		switch {
		case j == nil || rng.IntN(20) == 0:
			next, err := Create(files, testDir, number+1, testDatabase, v)
			check(t, err)
			if j != nil {
				check(t, j.Close())
				check(t, files.Remove(testDir+"/"+folder.Manifest.Name(number)))
			}
			j, number = next, number+1
		default:
			check(t, j.Append(edits[i-1]))
		}
		acknowledged = i
	}
	check(t, j.Close())
	crash()
}

func TestAppend_failsForGoodAfterTheFirstFailure(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.WriteAt, faultfs.Sync} {
		for _, cause := range []error{errFault, vfs.ErrNoSpace} {
			armed, failed := false, false
			files := faultfs.New(newFS(t), func(op faultfs.Op) error {
				switch {
				case failed && op.Kind.Mutates():
					t.Errorf("%v after a failure", op)
				case armed && op.Kind == kind:
					failed = true
					return cause
				}
				return nil
			})
			j, err := Create(files, testDir, testNumber, testDatabase, &Version{})
			check(t, err)
			armed = true
			for range 2 {
				err := j.Append(&Edit{LogNumber: 2})
				if !errors.Is(err, cause) || errors.Is(err, ErrUnchanged) {
					t.Errorf("%v fails: Append returns %v", kind, err)
				}
			}
			check(t, j.Close())
		}
	}
}

func TestAppend_canBeRepeatedAfterAFullDisk(t *testing.T) {
	disk := newFS(t)
	quota := faultfs.NewQuota(1000)
	files := faultfs.New(disk, quota.Hook)
	edits := someEdits()
	versions := outcomes(t, edits)
	j, err := Create(files, testDir, testNumber, testDatabase, versions[0])
	check(t, err)
	quota.Add(-1000)
	for i, e := range edits {
		err := j.Append(e)
		if !errors.Is(err, vfs.ErrNoSpace) || !errors.Is(err, ErrUnchanged) {
			t.Fatalf("on a full disk Append returns %v", err)
		}
		s, err := Load(disk, testDir)
		if err != nil || text(s.Version) != text(versions[i]) {
			t.Fatalf("on a full disk after %d edits: loaded %+v: %v", i, s, err)
		}
		quota.Add(2000)
		check(t, j.Append(e))
		quota.Add(-2000)
	}
	s, err := Load(disk, testDir)
	if err != nil || s.Torn || text(s.Version) != text(versions[len(edits)]) {
		t.Errorf("loaded %+v: %v", s, err)
	}
}

func TestCreate_leavesNothingOnAFullDisk(t *testing.T) {
	disk := newFS(t)
	files := faultfs.New(disk, faultfs.NewQuota(20).Hook)
	_, err := Create(files, testDir, testNumber, testDatabase, &Version{})
	if !errors.Is(err, vfs.ErrNoSpace) || !errors.Is(err, ErrUnchanged) {
		t.Errorf("Create returns %v", err)
	}
	if names, err := disk.List(testDir); err != nil || len(names) > 0 {
		t.Errorf("Create leaves %v: %v", names, err)
	}
}

func TestCreate_doesNotKnowWhatChangedOnceSomethingIsWritten(t *testing.T) {
	for _, kind := range []faultfs.Kind{faultfs.WriteAt, faultfs.Sync, faultfs.SyncDir} {
		files := faultfs.New(newFS(t), func(op faultfs.Op) error {
			if op.Kind == kind {
				return vfs.ErrNoSpace
			}
			return nil
		})
		_, err := Create(files, testDir, testNumber, testDatabase, &Version{})
		if !errors.Is(err, vfs.ErrNoSpace) || errors.Is(err, ErrUnchanged) {
			t.Errorf("%v fails: Create returns %v", kind, err)
		}
	}
}

func TestSize_isWhatWasWritten(t *testing.T) {
	data, ends := imageOf(t, &Version{}, someEdits())
	if ends[len(ends)-1] != len(data) || ends[0] <= fileheader.Size {
		t.Errorf("sizes are %v, the file has %d bytes", ends, len(data))
	}
}

func TestStartSize_doesNotGrow(t *testing.T) {
	v := &Version{}
	j, err := Create(newFS(t), testDir, testNumber, testDatabase, v)
	check(t, err)
	start := j.Size()
	for _, e := range someEdits() {
		check(t, j.Append(e))
	}
	if j.StartSize() != start || j.Size() <= start {
		t.Errorf("starts with %d of %d bytes, want %d", j.StartSize(), j.Size(), start)
	}
}
