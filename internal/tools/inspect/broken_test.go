package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
)

// showBroken prints a file of which the sector at an offset cannot be read.
func showBroken(t testing.TB, image []byte, at int) (text string, damage int, err error) {
	t.Helper()
	const sector = 4 << 10
	first := int64(at - at%sector)
	fs := faultfs.New(newFS(t), func(op faultfs.Op) error {
		if op.Kind == faultfs.ReadAt && op.Offset < first+sector &&
			first < op.Offset+int64(op.Bytes) {
			return errors.New("input/output error")
		}
		return nil
	})
	f := createFile(t, fs, "FILE")
	_, err = f.WriteAt(image, 0)
	ok(t, err)
	var out strings.Builder
	damage, err = printFile(fs, &out, "db/FILE", Options{})
	return strings.Join(strings.Fields(out.String()), " "), damage, err
}

// largeTable returns a table of several sectors, with a filter.
func largeTable(t testing.TB) []byte {
	t.Helper()
	fs := newFS(t)
	w := table.NewWriter(createFile(t, fs, "table"), table.WriterOptions{
		Number: 14, Database: testDatabase, BlockBytes: 1000, Filter: true,
	})
	for i := range 300 {
		ok(t, w.Add(inBucket(0, fmt.Sprintf("key %03d", i)), keyspace.Entry{
			Kind: keyspace.KindPut, Value: bytes.Repeat([]byte{byte(i)}, 100),
		}))
	}
	_, err := w.Finish()
	ok(t, err)
	return readFile(t, fs, "table")
}

func TestFile_goesOnBehindWhatCannotBeRead(t *testing.T) {
	large := largeTable(t)
	log := append(logImage(t), make([]byte, 9000)...)
	padded := append(manifestImage(t), make([]byte, 9000)...)
	for _, c := range []struct {
		image []byte
		at    int
		want  string
	}{
		{large, 0, "checksum of the header does not match"},
		{large, 10_000, "values of block 11: "},
		{log, 5000, "3 commits"},
		{padded, 5000, "edit"},
	} {
		text, damage, err := showBroken(t, c.image, c.at)
		ok(t, err)
		if damage == 0 || !strings.Contains(text, "cannot be read") ||
			!strings.Contains(text, "input/output error") || !strings.Contains(text, c.want) {
			t.Errorf("%d cannot be read, damage in %d places:\n%s", c.at, damage, text)
		}
	}
	for at := 0; at < len(large); at += 4 << 10 {
		text, _, err := showBroken(t, large, at)
		ok(t, err)
		blocks := strings.Count(text, " block ")
		if last := at+4<<10 > len(large)-2000; blocks < 20 && !last {
			t.Errorf("%d of %d cannot be read: %d blocks are shown", at, len(large), blocks)
		}
	}
}

func TestFile_reportsAFileWhoseHeaderCannotBeRead(t *testing.T) {
	for _, image := range [][]byte{manifestImage(t), logImage(t), valuesImage(t)} {
		if _, damage, err := showBroken(t, image, 20); err == nil || damage > 0 {
			t.Errorf("damage in %d places, %v", damage, err)
		}
	}
}
