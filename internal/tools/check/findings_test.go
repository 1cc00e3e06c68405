package check

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

func TestFindings_areAllDamageThatNamesItsFile(t *testing.T) {
	var f Findings
	if f.Err() != nil || f.Len() != 0 {
		t.Errorf("no findings are %v", f.Err())
	}
	f.Add("a.table", fmt.Errorf("open it: %w", corrupt.New("b.table", 7, "torn")))
	f.Add("c.table", fs.ErrPermission)
	f.Lose("d.table", errors.New("gone"))
	f.Add("d.table", errors.New("also too short"))
	want := "open it: corrupt data in b.table at offset 7: torn\n" +
		"corrupt data in c.table at offset 0: it cannot be read: permission denied\n" +
		"corrupt data in d.table at offset 0: it cannot be read: gone"
	if got := f.Err(); got.Error() != want || f.Len() != 3 {
		t.Errorf("found %d:\n%v\nwant:\n%s", f.Len(), got, want)
	}
	for _, err := range f.errs {
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("%v is no damage", err)
		}
	}
}

func TestFindings_countBeyondAHundred(t *testing.T) {
	var f Findings
	for range 105 {
		f.Add("a.table", errors.New("wrong"))
	}
	err := f.Err()
	if n := strings.Count(err.Error(), "\n") + 1; n != 101 || f.Len() != 105 ||
		!strings.HasSuffix(err.Error(), "and 5 more: corrupt data") {
		t.Errorf("%d lines: %v", n, err)
	}
}
