package boltcompat

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyStep is how many bytes one transaction of a copy puts, which are in memory.
const copyStep = 8 << 20

// transcript is a backup of a copy of what a transaction sees, as one file.
type transcript struct {
	dir  string // temporary, beside the database; the file is in it
	file *os.File
	size int64
}

// transcribe returns the transcript of what the transaction sees. It makes one if there is none or
// the transaction is writable; that of a read-only one is removed when the transaction ends.
func (tx *Tx) transcribe() (_ *transcript, err error) {
	if tx.copied != nil {
		return tx.copied, nil
	}
	dir, err := makeCopyDir(copies(tx.db.path))
	if err != nil {
		return nil, err
	}
	t := &transcript{dir: dir}
	complete := false
	defer func() { // also after a panic
		if !complete {
			t.remove()
		}
	}()
	if t.file, err = os.Create(filepath.Join(dir, "backup")); err != nil {
		return nil, err
	}
	if err := t.fill(tx); err != nil {
		return nil, err
	}
	if complete = true; !tx.writable {
		tx.copied = t
	}
	return t, nil
}

// copies returns the directory of the transcripts of the database at path. It is there only while
// there are some, or after a crash; Open then removes it, so it has a name that no program chooses.
func copies(path string) string { return path + ".boltcompat-copies" }

// makeCopyDir makes a directory for a transcript in parent.
func makeCopyDir(parent string) (string, error) {
	for {
		if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		dir, err := os.MkdirTemp(parent, "")
		if !errors.Is(err, fs.ErrNotExist) { // else another transaction has removed parent
			return dir, err
		}
	}
}

// fill copies what the transaction sees to a database beside the file, and backs that up.
func (t *transcript) fill(tx *Tx) error {
	path := filepath.Join(t.dir, "db")
	to, err := Open(path, 0o600, &Options{NoSync: true})
	if err != nil {
		return err
	}
	defer os.RemoveAll(path) // to make room early
	defer to.Close()         // it is removed
	if err := (&copier{dst: to, limit: copyStep}).copy(tx); err != nil {
		return err
	}
	if err := to.in.BackupTo(context.Background(), t.file); err != nil {
		return err
	}
	t.size, err = t.file.Seek(0, io.SeekCurrent)
	return err
}

// writeTo writes the file to w.
func (t *transcript) writeTo(w io.Writer) error {
	_, err := io.Copy(w, io.NewSectionReader(t.file, 0, t.size))
	return err
}

// remove removes what there is.
func (t *transcript) remove() {
	if t.file != nil {
		_ = t.file.Close() // it is removed
	}
	_ = os.RemoveAll(t.dir)            // a leftover does no harm
	_ = os.Remove(filepath.Dir(t.dir)) // if it is empty
}
