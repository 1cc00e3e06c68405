package boltcompat

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/stoatdb/stoat"
)

// copySlack is what a copy takes beside the data, at most: headers, filters, indexes.
const copySlack = 64 << 10

// Size returns how many bytes [Tx.WriteTo] writes. The database may take more or less. If there
// have been commits since a read-only transaction began, Size makes the copy that WriteTo needs
// then.
func (tx *Tx) Size() int64 {
	assert(tx.db != nil, "tx closed")
	if tx.size == 0 {
		size, err := tx.measure()
		if err != nil {
			panic(failure{err})
		}
		tx.size = size
	}
	return (tx.size + tx.written + 4095) &^ 4095
}

// measure returns what [Tx.Size] is, without what the transaction has put.
func (tx *Tx) measure() (int64, error) {
	if !tx.writable && tx.db.in.Position() != tx.in.Position() {
		t, err := tx.transcribe()
		if err != nil {
			return 0, err
		}
		return t.size, nil
	}
	s := tx.db.in.Stats()
	files := int64(s.Tables + s.ValueFiles)
	// What is in memory goes into tables, and may be in the log, too.
	return occupied(s) + s.MemtableBytes + files*1024 + copySlack, nil
}

// turnWait is how long WriteTo waits for the end of a writable transaction, which may be one that
// its caller has to end, before it copies instead.
const turnWait = 5 * time.Second

// WriteTo writes the database to w, as the transaction sees it, as one file, which [Open] makes a
// database of. "stoat restore -" does, too. It writes [Tx.Size] bytes.
//
// If there have been commits since the transaction began, or if it is writable, WriteTo first
// writes a copy of the database into a temporary directory beside it, and thus takes longer and
// more space.
func (tx *Tx) WriteTo(w io.Writer) (n int64, err error) {
	if tx.db == nil {
		return 0, ErrTxClosed
	}
	size := tx.Size()
	out := &counter{w: w}
	done, err := false, error(nil)
	if !tx.writable {
		done, err = tx.backUp(out)
	}
	if !done {
		err = tx.copyTo(out)
	}
	if out.err != nil { // as it is, since programs compare
		return out.n, out.err
	}
	if err != nil {
		return out.n, translate(err)
	}
	_, err = io.CopyN(out, zeros{}, max(0, size-out.n))
	return out.n, err
}

// backUp writes a backup to w if that would be of exactly what the transaction sees. Otherwise it
// writes nothing and returns false, without an error.
func (tx *Tx) backUp(w io.Writer) (done bool, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	waiting := time.AfterFunc(turnWait, cancel)
	defer waiting.Stop()
	db := tx.db.in
	// The state of a backup is fixed before its first byte, so it is the transaction's if there is no
	// later commit by then.
	g := &gate{w: w, open: func() bool {
		return waiting.Stop() && db.Position() == tx.in.Position()
	}}
	err = db.BackupTo(ctx, g)
	if !g.passed && (err == nil || ctx.Err() != nil || errors.Is(err, errOutdated) ||
		errors.Is(err, stoat.ErrDeadlock)) {
		return false, nil
	}
	return true, err
}

// gate is a writer that asks once whether it may write.
type gate struct {
	w      io.Writer
	open   func() bool
	passed bool
}

// errOutdated ends a backup that is of another state than it should be.
var errOutdated = errors.New("the database has changed since the transaction began")

// Write passes p on if the gate is open.
func (g *gate) Write(p []byte) (int, error) {
	if !g.passed {
		if !g.open() {
			return 0, errOutdated
		}
		g.passed = true
	}
	return g.w.Write(p)
}

// counter is a writer that counts bytes and keeps the error.
type counter struct {
	w   io.Writer
	n   int64
	err error
}

// Write passes p on.
func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	c.err = err
	return n, err
}

// zeros is a reader of zeros without an end.
type zeros struct{}

// Read fills p with zeros.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// copyTo writes a backup of a copy of what the transaction sees.
func (tx *Tx) copyTo(w io.Writer) error {
	t, err := tx.transcribe()
	if err != nil {
		return err
	}
	if tx.writable { // it may put more
		defer t.remove()
	}
	return t.writeTo(w)
}

// Copy is [Tx.WriteTo].
func (tx *Tx) Copy(w io.Writer) error {
	_, err := tx.WriteTo(w)
	return err
}

// CopyFile writes the database to a file, as [Tx.WriteTo] does, and syncs it.
func (tx *Tx) CopyFile(path string, mode os.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(f, 256<<10)
	_, err = tx.WriteTo(b)
	if err == nil {
		err = b.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("copy to %s: %w", path, err)
	}
	return nil
}

var _ io.WriterTo = (*Tx)(nil)
