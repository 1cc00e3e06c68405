package check

import (
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// maxFindings is how many findings are kept one by one.
const maxFindings = 100

// Findings is what a check has found to be wrong. The zero value is none. Not safe for concurrent
// use.
type Findings struct {
	errs []error
	more int // so many beyond errs
	lost map[string]bool
}

// Add adds an error that is about a file. One that is no corrupt.Error matches corrupt.Err, too, as
// when the disk cannot read, or when the file claims to be of another kind.
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
}

// Lose adds an error that is about a whole file. What is wrong in it besides is left out from now
// on.
func (f *Findings) Lose(file string, err error) {
	f.Add(file, err)
	if f.lost == nil {
		f.lost = make(map[string]bool)
	}
	f.lost[file] = true
}

// Len returns how many there are.
func (f *Findings) Len() int { return len(f.errs) + f.more }

// Err returns all of them joined, and if they are many, how many are left out; nil if there are
// none.
func (f *Findings) Err() error {
	if f.more == 0 {
		return errors.Join(f.errs...)
	}
	return errors.Join(append(f.errs, fmt.Errorf("and %d more: %w", f.more, corrupt.Err))...)
}
