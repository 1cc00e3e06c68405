package manifest

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/internal/fileheader"
)

// FuzzLoad loads any bytes after a valid header.
func FuzzLoad(f *testing.F) {
	data, _ := imageOf(f, &Version{NextNumber: 2}, someEdits())
	f.Add(data[fileheader.Size:])
	f.Add([]byte{})
	for at := fileheader.Size; at < len(data); at += 61 {
		f.Add(data[fileheader.Size:at]) // torn
		data[at] ^= 1
		f.Add(bytes.Clone(data[fileheader.Size:])) // flipped
		data[at] ^= 1
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		header := testHeader.Bytes()
		checkAny(t, append(header[:], in...))
	})
}

// FuzzDecode loads a version and an edit of any content, with valid checksums.
func FuzzDecode(f *testing.F) {
	edits := someEdits()
	for i, v := range outcomes(f, edits)[:len(edits)] {
		f.Add(appendVersion(nil, v), appendEdit(nil, edits[i]))
	}
	f.Fuzz(func(t *testing.T, version, edit []byte) {
		header, seed := testHeader.Bytes(), testHeader.Seed()
		data := append(startFrame(header[:]), version...)
		sealFrame(data[fileheader.Size:], seed, fileheader.Size)
		at := len(data)
		data = append(startFrame(data), edit...)
		sealFrame(data[at:], seed, int64(at))
		checkAny(t, data)
	})
}

// checkAny loads a manifest of any content. The loaded version must be valid, and must be loaded
// again after it is written.
func checkAny(t *testing.T, data []byte) {
	t.Helper()
	s, err := loadImage(t, data)
	if err != nil {
		if !isDamage(err) && !isMissing(err) {
			t.Fatal(err)
		}
		walkImage(t, data)
		return
	}
	checkWalk(t, data, s.Version)
	check(t, s.Version.Verify())
	files := newFS(t)
	write(t, files, testNumber, s.Version, nil)
	again, err := Load(files, testDir)
	if err != nil || text(again.Version) != text(s.Version) {
		t.Fatalf("%s is loaded as %+v: %v", text(s.Version), again, err)
	}
}
