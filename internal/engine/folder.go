package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/superversion"
	"github.com/stoatdb/stoat/internal/vfs"
)

const (
	// lockRetry is how often Open looks whether another process has released the lock.
	lockRetry = 10 * time.Millisecond
	// takeRetries bounds how often it starts over because the folder was replaced meanwhile.
	takeRetries = 20
)

// takeFolder opens and locks the folder of a database, and creates it if it is missing. After
// waiting for the lock, the path may lead to another folder; then it starts over with that one.
func takeFolder(files vfs.FS, dir string, timeout time.Duration) (directory, vfs.Lock, error) {
	for tries := 0; ; tries++ {
		d, err := openFolder(files, dir)
		if err != nil {
			return directory{}, nil, err
		}
		lock, waited, err := d.takeLock(timeout)
		if err != nil {
			return directory{}, nil, errors.Join(err, d.folder.Close())
		}
		if !waited {
			return d, lock, nil // what was replaced in this instant is seen by the first commit
		}
		replaced := errors.Join(lock.Named(), d.folder.Named())
		if replaced == nil {
			return d, lock, nil
		}
		err = errors.Join(lock.Close(), d.folder.Close())
		if tries == takeRetries {
			err = errors.Join(fmt.Errorf("the directory is replaced over and over: %w", replaced), err)
		}
		if err != nil {
			return directory{}, nil, err
		}
	}
}

// openFolder opens the folder of a database, and creates it if it is missing.
func openFolder(files vfs.FS, dir string) (directory, error) {
	opened, err := files.OpenFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = files.MkdirAll(dir); err == nil {
			opened, err = files.OpenFolder(dir)
		}
	}
	return directory{opened, dir}, err
}

// takeLock takes the lock of the folder, and reports whether it has waited for another process.
func (d directory) takeLock(timeout time.Duration) (lock vfs.Lock, waited bool, err error) {
	lock, waited, err = d.acquire(timeout)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.makeLock(); err == nil {
			lock, waited, err = d.acquire(timeout)
		}
	}
	return lock, waited, err
}

// makeLock creates the lock file, unless the folder holds something that is not ours.
func (d directory) makeLock() error {
	found, err := d.survey()
	if err == nil {
		_, err = d.loadManifest(found)
	}
	if err != nil {
		return d.tellCopy(err, found)
	}
	return folder.CreateLock(d.folder, d.dir)
}

// acquire takes the lock in a file that exists. It waits for another process for as long as
// timeout.
func (d directory) acquire(timeout time.Duration) (lock vfs.Lock, waited bool, err error) {
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockRetry) {
		lock, err = folder.Lock(d.folder, d.dir)
		if err == nil || !errors.Is(err, vfs.ErrLocked) || !time.Now().Before(deadline) {
			return lock, waited, err
		}
		waited = true
	}
}

// ownedInstalling returns vfs.ErrReplaced, with what happened, if the folder, its lock or the
// manifest is no longer ours. It is called before anything is written that others could take for
// theirs, and before anything is removed or acknowledged that relies on what was written.
func (e *Engine) ownedInstalling() error {
	if e.installing.journal != nil {
		if err := e.installing.journal.Named(); err != nil {
			return fmt.Errorf("%w: nothing can be recorded in a manifest without its name", err)
		}
	}
	return vfs.Owned(e.folder, e.lock)
}

// disowned reports whether the database is poisoned because the folder is no longer ours. Then
// nothing is removed from it.
func (e *Engine) disowned() bool {
	p := e.poisoned.Load()
	return p != nil && errors.Is(p.cause, vfs.ErrReplaced)
}

// closeFolder closes the folder of a closed engine. Open transactions go on, and need no folder if
// all files are open: closeFolder opens the others, which it does not do for nobody, because there
// may be thousands. If some cannot be opened, the folder stays open until nothing refers to it.
func (e *Engine) closeFolder() error {
	e.installing.Lock() // so nobody lists the folder or opens a file in it
	defer e.installing.Unlock()
	if e.options.Volatile {
		return nil
	}
	if !e.readers.any() && !e.writer.isHeld() {
		return e.folder.Close()
	}
	// Once the lock is released, another process may remove the files.
	if err := e.openAll(e.state.Load().Levels); err != nil {
		if !e.options.ReadOnly { // else Open has told
			e.options.Logger.Warn("open files for readers", "dir", e.dir, "err", err)
		}
		return nil
	}
	return e.folder.Close()
}

// openAll opens every file of the levels that is in the folder, so that all stay readable after
// they are removed. It continues after an error.
func (d directory) openAll(levels *superversion.Levels) error {
	var errs []error
	d.eachOpened(levels, func(err error) { errs = append(errs, err) })
	return errors.Join(errs...)
}

// eachOpened opens every file of the levels that is in the folder, and calls fn with the outcome of
// each.
func (d directory) eachOpened(levels *superversion.Levels, fn func(error)) {
	levels.Each(func(h superversion.Handle) {
		if !d.isFar(h.Meta) {
			fn(h.Table.Open())
		}
	})
	for _, f := range levels.Version.ValueFiles {
		if !vfs.Elsewhere(d.folder, d.valuePath(f)) {
			fn(levels.Values(f.Number).Open())
		}
	}
}
