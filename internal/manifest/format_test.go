package manifest

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// The description of the format, and the heading of the example in it.
const (
	formatFile    = "../../docs/format.md"
	formatHeading = "### A small manifest"
)

// example returns the bytes of the hex dump below the heading in the description of the format.
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

// exampleVersion and exampleEdit return the content of the example.
func exampleVersion() *Version {
	return &Version{LogNumber: 13, LastCommit: 200, NextNumber: 14, Branch: 1<<62 + 300}
}

func exampleEdit() *Edit {
	return &Edit{
		LogNumber: 15, LastCommit: 203, NextNumber: 16,
		AddYoung: []Run{{
			Tables: []*Table{{
				Number: 14, Size: 300, Entries: 2, Tombstones: 1, RawBytes: 28, Compressed: true,
				Smallest: []byte("\x10a"), Largest: []byte("\x10b"), StaleAt: 1_767_225_600_000,
				Values:  []ValueShare{{File: 13, Count: 1, Bytes: 5000}},
				Buckets: []BucketShare{{Bucket: 0, Entries: 1, Bytes: 5002}},
			}},
			Deleted: keyspace.Spans{{Start: []byte("\x10c"), End: []byte("\x10d")}},
		}},
		AddValues: []ValueFile{{Number: 13, Size: 5169, Log: true}},
	}
}

func TestFormat_exampleIsWhatIsWritten(t *testing.T) {
	files := newFS(t)
	j, err := Create(files, testDir, testNumber, exampleDatabase, exampleVersion())
	check(t, err)
	check(t, j.Append(exampleEdit()))
	f, err := files.Open(testDir + "/" + folder.Manifest.Name(testNumber))
	check(t, err)
	got := make([]byte, j.Size())
	_, err = f.ReadAt(got, 0)
	check(t, err)
	if !bytes.Equal(got, example(t)) {
		t.Errorf("the example in %s should be\n%s", formatFile, hex.Dump(got))
	}
}

// Manifests on disk look like this, so this must never change. Together with the example it covers
// all fields.
func TestFormat_fieldsStayWhatTheyAre(t *testing.T) {
	table := &Table{
		Number: 4, Size: 64, Entries: 1, RawBytes: 3, DropEpoch: 1,
		Smallest: []byte("b"), Largest: []byte("b"), Values: []ValueShare{{5, 1, 10}},
		Dictionaries: []uint64{3},
	}
	version := &Version{
		Young:     []Run{{Deleted: keyspace.Spans{{Start: []byte("a")}}}},
		Bottom:    Run{Tables: []*Table{table}},
		LogNumber: 13, LastCommit: 200, NextNumber: 14,
		ValueFiles:   []ValueFile{{Number: 5, Size: 100, Live: 10, Count: 1}},
		Dictionaries: []Dictionary{{3, 1, 2, []byte("d")}},
		Dropped:      []Drop{{First: 7, Last: 9, Epoch: 2}}, DropEpoch: 2, Branch: 300,
	}
	edit := &Edit{
		RemoveYoung: YoungRuns{Older: 2, Count: 3},
		AddBottom:   []*Table{table}, Remove: []uint64{6, 300},
		AddValues: []ValueFile{{Number: 5, Size: 100}}, Drop: []uint64{9},
		AddDictionaries: []Dictionary{{3, 1, 2, []byte("d")}},
	}
	const (
		tableHex   = "04400100030114" + "01620162" + "0105010a" + "0103"
		numbersHex = "010d" + "02c801" + "030e" + "0402"
		runHex     = "00" + "01" + "016100"
	)
	for _, c := range []struct {
		got  []byte
		want string
	}{
		{
			appendVersion(nil, version),
			numbersHex + "0501" + runHex + "0601" + tableHex + "0701070902" + "0801056400" +
				"09010301020164" + "0aac02",
		},
		{
			appendEdit(nil, edit),
			"1101" + tableHex + "120206ac02" + "130109" + "1401056400" + "1502" + "1603" + "17010301020164",
		},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("encoded as %s, want %s", got, c.want)
		}
	}
	decoded, err := decodeVersion(appendVersion(nil, version))
	if err != nil || text(decoded) != text(version) {
		t.Errorf("decoded as %+v: %v", decoded, err)
	}
}

func TestFormat_exampleIsLoaded(t *testing.T) {
	files := memfs.New()
	check(t, files.MkdirAll(testDir))
	putFile(t, files, folder.Manifest.Name(testNumber), example(t))
	s, err := Load(files, testDir)
	check(t, err)
	want := applied(t, exampleVersion(), exampleEdit())
	if s.Database != exampleDatabase || s.Torn || text(s.Version) != text(want) {
		t.Errorf("loaded %+v, %s", s, text(s.Version))
	}
}
