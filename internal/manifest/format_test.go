package manifest

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// The format's description, and the heading of the example in it.
const (
	formatFile    = "../../docs/format.md"
	formatHeading = "### A small manifest"
)

// example returns the bytes of the hex dump that follows the heading in the format's description.
func example(t testing.TB) []byte {
	t.Helper()
	doc, err := os.ReadFile(formatFile)
	check(t, err)
	_, section, _ := strings.Cut(string(doc), formatHeading+"\n")
	_, section, _ = strings.Cut(section, "```hexdump\n")
	dump, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatalf("%s has no hex dump under %q", formatFile, formatHeading)
	}
	var data []byte
	for line := range strings.Lines(dump) {
		line, _, _ = strings.Cut(line, "|")
		for _, digits := range strings.Fields(line)[1:] {
			b, err := hex.DecodeString(digits)
			check(t, err)
			data = append(data, b...)
		}
	}
	return data
}

// exampleDatabase is the identity in the example; immutable.
var exampleDatabase = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

// exampleVersion and exampleEdit return what is in the example.
func exampleVersion() *Version { return &Version{LogNumber: 13, LastCommit: 200, NextNumber: 14} }

func exampleEdit() *Edit {
	return &Edit{
		LogNumber: 15, LastCommit: 202, NextNumber: 16,
		AddYoung: []*Table{{
			Number: 14, Size: 300, Entries: 2, Tombstones: 1, RawBytes: 5, Compressed: true,
			Smallest: []byte("\x10a"), Largest: []byte("\x10b"),
		}},
	}
}

func TestFormat_exampleIsWhatIsWritten(t *testing.T) {
	files := newFS(t)
	j, err := Create(files, testDir, testNumber, exampleDatabase, exampleVersion())
	check(t, err)
	check(t, j.Append(exampleEdit()))
	f, err := files.Open(testDir + "/" + Name(testNumber))
	check(t, err)
	got := make([]byte, j.Size())
	_, err = f.ReadAt(got, 0)
	check(t, err)
	if !bytes.Equal(got, example(t)) {
		t.Errorf("the example in %s should be\n%s", formatFile, hex.Dump(got))
	}
}

func TestFormat_exampleIsLoaded(t *testing.T) {
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	putFile(t, files, Name(testNumber), example(t))
	s, err := Load(files, testDir)
	check(t, err)
	want := applied(t, exampleVersion(), exampleEdit())
	if s.Database != exampleDatabase || s.Torn || text(s.Version) != text(want) {
		t.Errorf("loaded %+v, %s", s, text(s.Version))
	}
}
