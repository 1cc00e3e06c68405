package wal

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
)

// The description of the format, and the heading of the example in it.
const (
	formatFile    = "../../docs/format.md"
	formatHeading = "### A small segment"
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

func TestFormat_exampleIsWhatIsWritten(t *testing.T) {
	fs := newFS(t)
	s, err := Create(fs, testDir, testNumber, exampleDatabase)
	check(t, err)
	s.Append(frames([]byte("\x01\x01\x01a1")), 1, true)
	_, err = s.Write(Durable)
	check(t, err)
	s.Append(frames([]byte("\x01\x01\x01b2"), []byte("\x02\x01a")), 2, true)
	_, err = s.Write(Durable)
	check(t, err)
	check(t, s.Close())
	if got := readFile(t, fs); !bytes.Equal(got, example(t)) {
		t.Errorf("the example in %s should be\n%s", formatFile, hex.Dump(got))
	}
}

func TestFormat_exampleIsReplayed(t *testing.T) {
	fs := newFS(t)
	f, err := fs.Create(testDir + "/" + folder.Log.Name(testNumber))
	check(t, err)
	_, err = f.WriteAt(example(t), 0)
	check(t, err)
	var got []commit
	_, err = Replay(fs, testDir, testNumber, exampleDatabase, 0,
		func(number uint64, payloads []Payload) error {
			c := commit{number: number}
			for _, p := range payloads {
				c.payloads = append(c.payloads, bytes.Clone(p.Bytes))
			}
			got = append(got, c)
			return nil
		})
	check(t, err)
	want := []commit{
		{1, [][]byte{[]byte("\x01\x01\x01a1")}},
		{2, [][]byte{[]byte("\x01\x01\x01b2"), []byte("\x02\x01a")}},
	}
	if len(got) != len(want) || !isPrefix(got, want) {
		t.Errorf("replayed %q", got)
	}
}
