package stoat

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// Files that are in a store only are not lost, and a salvage would lose them.
func TestOpenError_doesNotAdviseToSalvageWhatIsElsewhere(t *testing.T) {
	err := openError("/some/dir", false, corrupt.NewElsewhere("a.table", "open it there"))
	if !errors.Is(err, ErrCorrupt) || strings.Contains(err.Error(), "salvage") {
		t.Errorf("the error is %v", err)
	}
}

func TestOpenError_namesTheDirectoryAndWhatToDo(t *testing.T) {
	tests := map[string]struct {
		cause    error
		readOnly bool
		advice   string
	}{
		"locked":           {ErrLocked, false, "Options.LockTimeout"},
		"corrupt":          {ErrCorrupt, false, "restore a backup"},
		"full":             {ErrNoSpace, false, "free some space"},
		"not permitted":    {fs.ErrPermission, false, "this user's"},
		"absent":           {fs.ErrNotExist, false, ""},
		"absent, readOnly": {fs.ErrNotExist, true, "without Options.ReadOnly"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := openError("/some/dir", test.readOnly, fmt.Errorf("read it: %w", test.cause))
			if !errors.Is(err, test.cause) {
				t.Errorf("error %v is not %v", err, test.cause)
			}
			for _, part := range []string{"/some/dir", test.advice} {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not mention %s", err, part)
				}
			}
		})
	}
}
