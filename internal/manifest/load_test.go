package manifest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

func TestLoad_returnsTheVersionAfterTheEdits(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	for start := range versions { // the version that the manifest starts with
		files := newFS(t)
		write(t, files, testNumber, versions[start], edits[start:])
		s, err := Load(files, testDir)
		check(t, err)
		if s.Number != testNumber || s.Database != testDatabase || s.Torn ||
			text(s.Version) != text(versions[len(edits)]) {
			t.Errorf("from version %d: loaded %+v, %s", start, s, text(s.Version))
		}
	}
}

func TestLoad_readsAnEmptyVersion(t *testing.T) {
	files := newFS(t)
	write(t, files, testNumber, &Version{}, []*Edit{{}})
	s, err := Load(files, testDir)
	if err != nil || text(s.Version) != text(&Version{}) {
		t.Errorf("loaded %+v: %v", s, err)
	}
}

func TestLoad_takesTheHighestNumber(t *testing.T) {
	files := newFS(t)
	for _, number := range []uint64{9, 1_000_000, 200} {
		write(t, files, number, &Version{NextNumber: number + 1}, nil)
	}
	putFile(t, files, "MANIFEST-x", []byte("not one"))
	s, err := Load(files, testDir)
	if err != nil || s.Number != 1_000_000 || s.Version.NextNumber != 1_000_001 {
		t.Errorf("loaded %+v: %v", s, err)
	}
}

func TestLoad_findsNoManifest(t *testing.T) {
	files := newFS(t)
	if _, err := Load(files, testDir); !isMissing(err) {
		t.Errorf("empty folder: %v", err)
	}
	if _, err := Load(files, "elsewhere"); !isMissing(err) {
		t.Errorf("no folder: %v", err)
	}
}

func TestLoad_ignoresATornTail(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	data, ends := imageOf(t, versions[0], edits)
	for cut := range data {
		n := 0 // complete frames
		for n < len(ends) && ends[n] <= cut {
			n++
		}
		s, err := loadImage(t, data[:cut])
		if n == 0 {
			if !isMissing(err) {
				t.Fatalf("cut off at %d: the manifest is not complete, but Load returns %v", cut, err)
			}
			continue
		}
		if err != nil || text(s.Version) != text(versions[n-1]) || s.Torn != (cut > ends[n-1]) {
			t.Fatalf("cut off at %d: loaded %+v: %v", cut, s, err)
		}
		s, err = loadImage(t, append(bytes.Clone(data[:cut]), make([]byte, len(data)-cut)...))
		if err != nil || text(s.Version) != text(versions[n-1]) && text(s.Version) != text(versions[n]) {
			t.Fatalf("zeros from %d on: loaded %+v: %v", cut, s, err)
		}
	}
}

func TestLoad_neverUsesDamagedBytes(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	data, ends := imageOf(t, versions[0], edits)
	lastEdit := ends[len(ends)-2]
	for i := range data {
		for bit := range 8 {
			damaged := bytes.Clone(data)
			damaged[i] ^= 1 << bit
			s, err := loadImage(t, damaged)
			switch {
			case i < lastEdit && !isDamage(err):
				t.Fatalf("bit %d of byte %d: Load returns %v", bit, i, err)
			case i >= lastEdit && (err != nil || !s.Torn || text(s.Version) != text(versions[len(edits)-1])):
				t.Fatalf("bit %d of byte %d of the last edit: loaded %+v: %v", bit, i, s, err)
			}
		}
	}
}

func TestLoad_reportsADamagedVersion(t *testing.T) {
	edits := someEdits()
	data, _ := imageOf(t, outcomes(t, edits)[len(edits)], nil)
	for i := range data {
		damaged := bytes.Clone(data)
		damaged[i] ^= 0x10
		if s, err := loadImage(t, damaged); !isDamage(err) {
			t.Errorf("byte %d: loaded %+v: %v", i, s, err)
		}
	}
}

func TestLoad_saysWhereTheDamageIs(t *testing.T) {
	data, ends := imageOf(t, &Version{}, someEdits())
	data[ends[1]+frameHeaderBytes] ^= 1
	_, err := loadImage(t, data)
	var damage *corrupt.Error
	if !errors.As(err, &damage) || damage.Offset != int64(ends[1]) {
		t.Errorf("damage at %d is reported as %v", ends[1], err)
	}
}

func TestLoad_fallsBackToTheManifestBeforeATornOne(t *testing.T) {
	edits := someEdits()
	versions := outcomes(t, edits)
	data, ends := imageOf(t, versions[3], edits[3:])
	for _, c := range []struct {
		name    string
		change  func(p []byte) []byte
		damaged bool
	}{
		{"empty", func([]byte) []byte { return nil }, false},
		{"part of the header", func(p []byte) []byte { return p[:30] }, false},
		{"part of the version", func(p []byte) []byte { return p[:ends[0]-1] }, false},
		{"zeros", func([]byte) []byte { return make([]byte, 5000) }, false},
		{"no header", func(p []byte) []byte { clear(p[:fileheader.Size]); return p[:ends[0]] }, false},
		{"a hole", func(p []byte) []byte { clear(p[80:99]); return p[:ends[0]] }, false},
		{"no header but edits", func(p []byte) []byte { clear(p[:fileheader.Size]); return p }, true},
		{"a hole before edits", func(p []byte) []byte { clear(p[80:99]); return p }, true},
		{"another program's", func([]byte) []byte { return []byte("#!/bin/sh") }, true},
	} {
		files := newFS(t)
		write(t, files, testNumber-1, versions[2], nil)
		putFile(t, files, folder.Manifest.Name(testNumber), c.change(bytes.Clone(data)))
		s, err := Load(files, testDir)
		if c.damaged {
			if !isDamage(err) {
				t.Errorf("%s: loaded %+v: %v", c.name, s, err)
			}
			continue
		}
		if err != nil || s.Number != testNumber-1 || text(s.Version) != text(versions[2]) {
			t.Errorf("%s: loaded %+v: %v", c.name, s, err)
		}
	}
}

func TestLoad_refusesOtherFiles(t *testing.T) {
	data, _ := imageOf(t, &Version{NextNumber: 13}, nil)
	sum := func(p []byte) {
		binary.LittleEndian.PutUint32(p[44:], checksum.Of(p[:44]))
	}
	for _, c := range []struct {
		name   string
		change func(p []byte)
		want   error
	}{
		{"magic", func(p []byte) { p[0] ^= 1 }, corrupt.ErrFormat},
		{"log's magic", func(p []byte) { copy(p, "STOATLOG"); sum(p) }, corrupt.ErrFormat},
		{"newer version", func(p []byte) { p[8]++; sum(p) }, corrupt.ErrFormat},
		{"other number", func(p []byte) { p[16]++; sum(p) }, corrupt.Err},
		{"reserved field", func(p []byte) { p[40]++; sum(p) }, corrupt.Err},
	} {
		files := newFS(t)
		write(t, files, testNumber-1, &Version{NextNumber: 12}, nil)
		other := bytes.Clone(data)
		c.change(other)
		putFile(t, files, folder.Manifest.Name(testNumber), other)
		if s, err := Load(files, testDir); !errors.Is(err, c.want) {
			t.Errorf("%s: loaded %+v: %v", c.name, s, err)
		}
	}
}

func TestLoad_ignoresFramesOfOtherManifests(t *testing.T) {
	edits := someEdits()
	data, ends := imageOf(t, &Version{}, edits[:2])
	own := testHeader.Seed()
	for name, seed := range map[string]uint32{
		"other number":   fileheader.New(fileheader.Manifest, testNumber-1, testDatabase).Seed(),
		"other database": fileheader.New(fileheader.Manifest, testNumber, [16]byte{1}).Seed(),
		"other place":    own ^ 4,
	} {
		changed := bytes.Clone(data)
		sealFrame(changed[ends[1]:], seed, int64(ends[1]))
		s, err := loadImage(t, changed)
		if err != nil || !s.Torn || s.Version.LastCommit != 9 {
			t.Errorf("%s: loaded %+v: %v", name, s, err)
		}
	}
}

// withEdit returns a manifest with an edit with this payload.
func withEdit(t testing.TB, v *Version, payload []byte) []byte {
	t.Helper()
	data, ends := imageOf(t, v, nil)
	seed := testHeader.Seed()
	data = append(startFrame(data), payload...)
	sealFrame(data[ends[0]:], seed, int64(ends[0]))
	return data
}

func TestLoad_refusesEditsItDoesNotUnderstand(t *testing.T) {
	v := applied(t, &Version{}, someEdits()[0])
	young := appendRuns([]byte{tagAddYoung, 1}, runOf(&Table{Number: 40, Largest: []byte("k")}))
	flagged := bytes.Clone(young)
	flagged[3+6] = knownFlags + 1
	stretched := bytes.Clone(young)
	stretched[3+8] = 9
	shared := bytes.Clone(young[:len(young)-1])
	shared[3+6] = flagValues
	for _, c := range []struct {
		name    string
		payload []byte
		want    error
	}{
		{"unknown field", []byte{100, 1}, corrupt.ErrFormat},
		{"field of a version", []byte{tagDropEpoch, 1}, corrupt.ErrFormat},
		{"unknown flag", flagged, corrupt.ErrFormat},
		{"field twice", []byte{tagLogNumber, 5, tagLogNumber, 5}, corrupt.Err},
		{"fields out of order", []byte{tagLastCommit, 50, tagLogNumber, 50}, corrupt.Err},
		{"no value", []byte{tagLogNumber}, corrupt.Err},
		{"long number", bytes.Repeat([]byte{0x80}, 12), corrupt.Err},
		{"unknown kind of value file", []byte{tagAddValues, 1, 2, 50, 2}, corrupt.ErrFormat},
		{"fewer runs than said", append([]byte{tagAddYoung, 2}, young[2:]...), corrupt.Err},
		{"fewer tables than said", append([]byte{tagAddYoung, 1, 2}, young[3:]...), corrupt.Err},
		{"more tables than bytes", []byte{tagAddBottom, 255, 255, 255, 255, 15, 0}, corrupt.Err},
		{"key longer than the rest", stretched, corrupt.Err},
		{"no deletions", young[:len(young)-1], corrupt.Err},
		{"fewer deletions than said", append(young[:len(young)-1:len(young)-1], 1), corrupt.Err},
		{"share of a missing file", append(bytes.Clone(shared), 1, 9, 1, 50, 0), corrupt.Err},
		{"fewer shares than said", append(bytes.Clone(shared), 2, 9, 1, 50, 0), corrupt.Err},
		{"young runs that are not there", []byte{tagRemoveYoung, 2}, corrupt.Err},
		{"young runs above all", []byte{tagYoungOlder, 1, tagRemoveYoung, 1}, corrupt.Err},
		{"highest numbers of young runs", []byte{tagYoungOlder, 255, 255, 255, 255, 7, tagRemoveYoung,
			255, 255, 255, 255, 7}, corrupt.Err},
		{"higher ones", []byte{tagYoungOlder, 255, 255, 255, 255, 15}, corrupt.Err},
		{"table that is not there", []byte{tagRemove, 1, 99}, corrupt.Err},
		{"log number that goes back", []byte{tagLogNumber, 1}, corrupt.Err},
	} {
		if s, err := loadImage(t, withEdit(t, v, c.payload)); !errors.Is(err, c.want) {
			t.Errorf("%s: loaded %+v: %v", c.name, s, err)
		}
	}
	_, err := loadImage(t, withEdit(t, v, []byte{tagLogNumber, 50, tagLastCommit, 50}))
	check(t, err)
}

func TestLoad_refusesInvalidVersions(t *testing.T) {
	a, b := tableOf(1, "a", "c"), tableOf(2, "b", "d")
	for name, v := range map[string]*Version{
		"overlap":           {Bottom: Run{Tables: []*Table{a, b}}},
		"same number twice": {Bottom: Run{Tables: []*Table{a}}, Young: runOf(a)},
		"empty young run":   {Young: append([]Run{{}}, runOf(a)...)},
		"empty deletion":    {Young: []Run{{Deleted: keyspace.Spans{deletion("a", "a")}}}},
		"unsorted drops":    {Dropped: []Drop{{5, 6, 1}, {6, 7, 1}}, DropEpoch: 1},
		"drop of no epoch":  {Dropped: []Drop{{5, 6, 2}}, DropEpoch: 1},
	} {
		if _, err := Create(newFS(t), testDir, testNumber, testDatabase, v); err == nil {
			t.Errorf("%s: Create takes it", name)
		}
		header, seed := testHeader.Bytes(), testHeader.Seed()
		data := appendVersion(startFrame(header[:]), v)
		sealFrame(data[fileheader.Size:], seed, fileheader.Size)
		if s, err := loadImage(t, data); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: loaded %+v: %v", name, s, err)
		}
	}
}

func TestLoad_allocatesByNoCountThatItHasNotChecked(t *testing.T) {
	table := []byte{tagBottom, 1, 7, 0, 0, 0, 0, 0}
	for _, start := range [][]byte{
		{tagYoung}, {tagBottom}, {tagDropped}, {tagValues}, {tagYoung, 1}, {tagYoung, 1, 0},
		append(bytes.Clone(table), flagValues, 0, 0), append(bytes.Clone(table), flagBuckets, 0, 0),
	} {
		header, seed := testHeader.Bytes(), testHeader.Seed()
		data := append(append(startFrame(header[:]), start...), 255, 255, 255, 255, 15)
		sealFrame(data[fileheader.Size:], seed, fileheader.Size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := loadImage(t, data)
		runtime.ReadMemStats(&after)
		if bytes := after.TotalAlloc - before.TotalAlloc; !isDamage(err) || bytes > 1<<20 {
			t.Errorf("count after % x: %d bytes allocated: %v", start, bytes, err)
		}
	}
}

func TestLoad_readsTheFileOnce(t *testing.T) {
	disk := newFS(t)
	edits := someEdits()
	write(t, disk, testNumber, &Version{}, edits)
	var kinds []faultfs.Kind
	_, err := Load(faultfs.New(disk, func(op faultfs.Op) error {
		kinds = append(kinds, op.Kind)
		return nil
	}), testDir)
	check(t, err)
	want := []faultfs.Kind{faultfs.List, faultfs.Open, faultfs.Size, faultfs.ReadAt, faultfs.Close}
	if !slices.Equal(kinds, want) {
		t.Errorf("operations are %v, want %v", kinds, want)
	}
}

func TestLoad_passesErrorsOn(t *testing.T) {
	disk := newFS(t)
	write(t, disk, testNumber, &Version{}, nil)
	for n := range int64(5) {
		_, err := Load(faultfs.New(disk, faultfs.FailAt(n, errFault)), testDir)
		if !errors.Is(err, errFault) || isDamage(err) {
			t.Errorf("operation %d fails: Load returns %v", n, err)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	files := newFS(b)
	v := &Version{NextNumber: 50}
	for i := range 3 {
		key := string(rune('a' + i))
		v.Bottom.Tables = append(v.Bottom.Tables, tableOf(uint64(i+1), key, key))
	}
	write(b, files, testNumber, v, []*Edit{{LogNumber: 3}, {LastCommit: 4}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(files, testDir); err != nil {
			b.Fatal(err)
		}
	}
}

func TestLoad_refusesNumbersThatLeaveNoRoomForOthers(t *testing.T) {
	for _, n := range []uint64{maxNumber, maxNumber + 1, 1<<64 - 1} {
		for _, v := range []*Version{{LogNumber: n}, {LastCommit: n}, {NextNumber: n}, {DropEpoch: n}} {
			header, seed := testHeader.Bytes(), testHeader.Seed()
			data := appendVersion(startFrame(header[:]), v)
			sealFrame(data[fileheader.Size:], seed, fileheader.Size)
			_, err := loadImage(t, data)
			if (err == nil) != (n == maxNumber) || err != nil && !isDamage(err) {
				t.Errorf("%+v: error %v", v, err)
			}
		}
	}
}

// The shortest list items need the most memory for their bytes.
func TestLoad_takesABoundedMultipleOfTheFile(t *testing.T) {
	const n = 20_000
	count := binary.AppendUvarint(nil, n)
	for name, payload := range map[string][]byte{
		"runs":   append(append([]byte{tagYoung}, count...), make([]byte, 2*n)...),
		"tables": append(append([]byte{tagBottom}, count...), make([]byte, 9*n)...),
		"spans":  append(append([]byte{tagYoung, 1, 0}, count...), make([]byte, 2*n)...),
		"drops":  append(append([]byte{tagDropped}, count...), make([]byte, 3*n)...),
		"values": append(append([]byte{tagValues}, count...), make([]byte, 3*n)...),
	} {
		header, seed := testHeader.Bytes(), testHeader.Seed()
		data := append(startFrame(header[:]), payload...)
		sealFrame(data[fileheader.Size:], seed, fileheader.Size)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeVersion(payload)
		runtime.ReadMemStats(&after)
		taken := (after.TotalAlloc - before.TotalAlloc) / uint64(len(payload))
		if err == nil || taken > 32 {
			t.Errorf("%s: %d bytes for each of the file's, error %v", name, taken, err)
		}
		if _, err := loadImage(t, data); !isDamage(err) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
