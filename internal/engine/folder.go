package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// lockRetry is how often Open looks whether another process has released the lock.
	lockRetry = 10 * time.Millisecond
	// takeRetries bounds how often it starts over because the folder was replaced meanwhile.
	takeRetries = 20
)

// takeFolder opens and locks the folder of the database, which it makes if need be. Who has waited
// for the lock may find that the path leads to another folder by then, and starts over with that.
func (e *Engine) takeFolder(files vfs.FS) error {
	for tries := 0; ; tries++ {
		if err := e.openFolder(files); err != nil {
			return err
		}
		waited, err := e.takeLock()
		if err != nil || !waited {
			return err // what was replaced in this instant is seen by the first commit
		}
		err = errors.Join(e.lock.Named(), e.folder.Named())
		if err == nil {
			return nil
		}
		if tries == takeRetries {
			return fmt.Errorf("the folder is replaced over and over: %w", err)
		}
		if err := e.leaveFolder(); err != nil {
			return err
		}
	}
}

func (e *Engine) openFolder(files vfs.FS) (err error) {
	e.folder, err = files.OpenFolder(e.dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = files.MkdirAll(e.dir); err == nil {
			e.folder, err = files.OpenFolder(e.dir)
		}
	}
	return err
}

// takeLock takes the lock of the folder, and tells whether it has waited for another process.
func (e *Engine) takeLock() (waited bool, err error) {
	name := filepath.Join(e.dir, lockName)
	waited, err = e.acquire(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err = e.makeLock(name); err == nil {
			waited, err = e.acquire(name)
		}
	}
	return waited, err
}

// makeLock makes the lock file, unless the folder holds what is not ours.
func (e *Engine) makeLock(name string) error {
	found, err := survey(e.folder, e.dir)
	if err == nil {
		_, err = e.loadManifest(found)
	}
	if err != nil {
		return e.tellCopy(err, found)
	}
	file, err := e.folder.Create(name)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// acquire takes the lock that there is, and waits for another process as long as the options say.
func (e *Engine) acquire(name string) (waited bool, err error) {
	for deadline := time.Now().Add(e.options.LockTimeout); ; time.Sleep(lockRetry) {
		e.lock, err = e.folder.Lock(name)
		if err == nil || !errors.Is(err, vfs.ErrLocked) || !time.Now().Before(deadline) {
			return waited, err
		}
		waited = true
	}
}

// leaveFolder lets go of the lock and the folder, as far as they were taken.
func (e *Engine) leaveFolder() error {
	var errs []error
	if e.lock != nil {
		errs = append(errs, e.lock.Close())
		e.lock = nil
	}
	if e.folder != nil {
		errs = append(errs, e.folder.Close())
		e.folder = nil
	}
	return errors.Join(errs...)
}

// owned returns vfs.ErrReplaced, with what has happened, if the folder, its lock or the manifest is
// not ours any more. It comes before anything is written that others could take for theirs, and
// before anything is removed or acknowledged that relies on what was written. The caller holds
// e.installing, or is alone.
func (e *Engine) owned() error {
	if e.installing.journal != nil {
		if err := e.installing.journal.Named(); err != nil {
			return fmt.Errorf("%w: nothing can be recorded in a manifest without its name", err)
		}
	}
	return vfs.Owned(e.folder, e.lock)
}

// disowned reports whether the database is poisoned because the folder is not ours any more: then
// nothing is removed from it.
func (e *Engine) disowned() bool {
	p := e.poisoned.Load()
	return p != nil && errors.Is(p.cause, vfs.ErrReplaced)
}

// closeFolder closes the folder of a closed engine. Readers go on, and need no folder if all files
// are open; if some cannot be opened, the folder is closed when nobody can reach it any more.
func (e *Engine) closeFolder() error {
	e.installing.Lock() // who lists the folder, or opens a file in it, has ended
	defer e.installing.Unlock()
	if e.options.Volatile {
		return nil
	}
	// Once the lock is released, another process may remove the files.
	if err := openAll(e.state.Load().Levels); err != nil {
		if !e.options.ReadOnly { // else Open has told
			e.options.Logger.Warn("open files for readers", "dir", e.dir, "err", err)
		}
		return nil
	}
	return e.folder.Close()
}

// openAll opens every file of the levels, so that all stay readable when they are removed. After an
// error it goes on with the rest.
func openAll(levels *superversion.Levels) error {
	var errs []error
	eachOpened(levels, func(err error) { errs = append(errs, err) })
	return errors.Join(errs...)
}

// eachOpened opens every file of the levels and calls fn with the outcome of each.
func eachOpened(levels *superversion.Levels, fn func(error)) {
	levels.Each(func(h superversion.Handle) { fn(h.Table.Open()) })
	for _, f := range levels.Version.ValueFiles {
		fn(levels.Values(f.Number).Open())
	}
}
