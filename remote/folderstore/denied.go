package folderstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/remote/internal/retry"
	"github.com/stoatdb/stoat/remote/objstore"
)

// lookTries is how often a file is looked for that may only linger: for 0.14 s, in which others
// have read what they read at a time.
const lookTries = 4

// look asks for a file, and again while that is not permitted and may be soon, as the file may be
// gone then.
func (s *Store) look(ctx context.Context, ask func() error) error {
	for tries := 1; ; tries++ {
		err := ask()
		if !s.lingers || !errors.Is(err, fs.ErrPermission) || tries == lookTries ||
			!retry.Sleep(ctx, retry.BackOff(tries), nil) {
			return err
		}
	}
}

// isDenied reports whether the file system does not permit something, to this user or to anyone.
func isDenied(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, vfs.ErrUnwritable)
}

// told returns an error of the file system. If that does not permit something, it matches
// objstore.ErrDenied, and says what to do.
func (s *Store) told(err error) error {
	switch {
	case !isDenied(err), errors.Is(err, objstore.ErrUnknown), errors.Is(err, objstore.ErrUnfit):
		return err
	case errors.Is(err, vfs.ErrUnwritable):
		return fmt.Errorf("%w: %w (mount the file system of %s for writing)", objstore.ErrDenied, err,
			s.root)
	}
	return fmt.Errorf("%w: %w (%s and what is in it must be this user's to read and write)",
		objstore.ErrDenied, err, s.root)
}
