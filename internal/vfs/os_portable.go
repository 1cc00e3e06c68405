//go:build !windows && (!unix || aix)

package vfs

import (
	"os"
	"path/filepath"
	"sync"
)

// held is the set of the absolute names that are locked in this process; platforms without locks
// between processes have nothing better. The set guards itself.
var held = new(sync.Map)

func openFile(p place, flag int) (*os.File, error) { return os.OpenFile(p.name, flag, 0o600) }

func lockFile(f *os.File) error {
	name, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	if _, taken := held.LoadOrStore(name, true); taken {
		return errTaken
	}
	return nil
}

func unlockFile(f *os.File) error {
	name, err := filepath.Abs(f.Name())
	if err != nil {
		return err
	}
	if _, ok := held.LoadAndDelete(name); !ok {
		return os.ErrClosed
	}
	return nil
}

func openDir(p place) (*os.File, error) { return os.Open(p.name) }

// syncDir does nothing: directories cannot be synced everywhere.
func syncDir(*os.File) error { return nil }
