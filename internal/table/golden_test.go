package table

import (
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// golden is the example of the format's description: table 7 of the database db 01 02 03 00 …, with
// apple = red, kiwi deleted, pear = green in the root bucket, neither compressed nor filtered.
const golden = `
53 54 4f 41 54 54 41 42 01 00 00 00 00 00 00 00
07 00 00 00 00 00 00 00 db 01 02 03 00 00 00 00
00 00 00 00 00 00 00 00 00 00 00 00 2a 2f cf c6
00 01 03 00 08 00 00 00 00 00 00 00 03 00 05 72
65 64 67 72 65 65 6e 10 9e bf 50 02 02 01 00 03
00 00 00 01 00 00 00 00 00 00 00 0d 00 00 00 6c
70 70 61 69 77 69 6b 72 61 65 70 05 00 09 00 0d
00 61 70 70 6c 65 6b 69 77 69 70 65 61 72 10 01
02 01 f6 5b c5 b5 00 00 00 00 00 00 00 00 1b 00
00 00 3b 00 00 00 10 9e bf 50 f6 5b c5 b5 00 00
00 00 06 00 00 00 06 00 00 00 10 61 70 70 6c 65
03 00 00 00 00 00 00 00 01 00 00 00 00 00 00 00
18 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
53 54 4f 41 54 54 41 42 01 00 00 00 00 00 00 00
07 00 00 00 00 00 00 00 db 01 02 03 00 00 00 00
00 00 00 00 00 00 00 00 4b 00 00 00 00 00 00 00
86 00 00 00 00 00 00 00 86 00 00 00 00 00 00 00
01 00 00 00 01 00 00 00 00 00 00 00 b1 37 32 df
00 00 00 00 6e 6a a9 8b
`

func goldenEntries() []entry {
	return []entry{
		{[]byte("\x10apple"), []byte("red"), keyspace.KindPut},
		{[]byte("\x10kiwi"), []byte{}, keyspace.KindDelete},
		{[]byte("\x10pear"), []byte("green"), keyspace.KindPut},
	}
}

// Tables on disk look like this, so this must never change.
func TestWriter_writesTheFormat(t *testing.T) {
	fs := newFS(t)
	s := writeTable(t, fs, testPath, WriterOptions{}, goldenEntries())
	got := hex.EncodeToString(readFile(t, fs, testPath, int64(s.Size)))
	want := strings.Join(strings.Fields(golden), "")
	if got != want {
		t.Errorf("the table is\n%s, want\n%s", got, want)
	}
}

func TestTable_readsTheFormat(t *testing.T) {
	image, err := hex.DecodeString(strings.Join(strings.Fields(golden), ""))
	if err != nil {
		t.Fatal(err)
	}
	table := tableOf(t, image, int64(len(image)), NewCache(1<<20))
	if !checkRightOrDamaged(t, table, goldenEntries(), "the example", 0) {
		t.Error("the example is damaged")
	}
}
