package check

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// maxFindings is how many findings are kept one by one.
const maxFindings = 100

// Findings is what a check has found to be wrong. The zero value is empty. Not safe for concurrent
// use.
type Findings struct {
	// OneEach leaves out all errors about a file but the first.
	OneEach bool

	errs []error
	more int // beyond errs
	lost map[string]bool
}

// Add adds an error about a file. Each finding matches corrupt.Err, even if err is an I/O error or
// says that the file is of another kind.
func (f *Findings) Add(file string, err error) {
	var damage *corrupt.Error
	if errors.As(err, &damage) {
		file = damage.File
	} else {
		err = fmt.Errorf("%w: %w", corrupt.New(file, 0, "it cannot be read"), err)
	}
	switch {
	case f.lost[file]:
	case len(f.errs) < maxFindings:
		f.errs = append(f.errs, err)
	default:
		f.more++
	}
	if f.OneEach {
		f.lose(file)
	}
}

// Lose adds an error about a whole file. Later errors about the file are left out.
func (f *Findings) Lose(file string, err error) {
	f.Add(file, err)
	f.lose(file)
}

func (f *Findings) lose(file string) {
	if f.lost == nil {
		f.lost = make(map[string]bool)
	}
	f.lost[file] = true
}

// Len returns how many there are.
func (f *Findings) Len() int { return len(f.errs) + f.more }

// Err returns all findings joined, with the number of those left out; nil if nothing was found.
func (f *Findings) Err() error {
	if f.more == 0 {
		return errors.Join(f.errs...)
	}
	return errors.Join(append(f.errs, fmt.Errorf("and %d more: %w", f.more, corrupt.Err))...)
}
