package objstore_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/remote/objstore"
)

func TestCheckName_takesPartsOfTheAlphabet(t *testing.T) {
	for _, name := range []string{
		"a", "0", "log/0000000000001a2f", "data/7f/68719476737.table", "a.b-c_d/e", "com10", "con1",
		strings.Repeat("a", objstore.NameBytesMax),
	} {
		if err := objstore.CheckName(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestCheckName_refusesAllElse(t *testing.T) {
	for _, name := range []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "a/.b", "-a", "_a", "a.", "a./b", "A", "ä",
		"a b", "a\\b", "a:b", "a\x00", "con", "nul.table", "a/com1", "lpt9.x", "a%2fb", "a\xff",
		strings.Repeat("a", objstore.NameBytesMax+1),
	} {
		if err := objstore.CheckName(name); !errors.Is(err, objstore.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRange_isCutAtBothEnds(t *testing.T) {
	for _, c := range []struct{ size, off, n, start, end int64 }{
		{10, 0, -1, 0, 10}, {10, 0, 0, 0, 0}, {10, 3, 4, 3, 7}, {10, 3, 7, 3, 10}, {10, 3, 8, 3, 10},
		{10, 10, 1, 10, 10}, {10, 11, -1, 10, 10}, {10, -3, -1, 7, 10}, {10, -3, 2, 7, 9},
		{10, -10, 1, 0, 1}, {10, -11, 2, 0, 2}, {0, 0, -1, 0, 0}, {0, -5, 5, 0, 0},
		{10, 1 << 62, 1 << 62, 10, 10}, {10, 5, 1<<63 - 1, 5, 10}, {10, -1 << 63, 3, 0, 3},
	} {
		if start, end := objstore.Range(c.size, c.off, c.n); start != c.start || end != c.end {
			t.Errorf("Range(%d, %d, %d) is %d to %d, want %d to %d", c.size, c.off, c.n, start, end,
				c.start, c.end)
		}
	}
}
