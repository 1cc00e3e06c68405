// Package inspect prints any file of a database for people, or as JSON for programs: what is in it,
// at which offset, and what is wrong with it.
//
// It reads one file and needs no other. The file's magic, not its name, gives its kind. Damage is
// an item of the output like others. Printing continues after it: with the next frame that
// verifies, the next block, or the next bytes that the disk can read. Everything printed was
// verified, except what stands beside a note of damage.
//
// In text, an item starts with its offset and takes lines of 80 columns; in JSON, it is an object
// on a line. The package writes no files. Its memory is bounded by a manifest's size and the
// largest frame or block. It may be used concurrently; a file that is being written may look
// damaged.
package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Options says what is printed.
type Options struct {
	JSON   bool // an object a line instead of text
	Blocks bool // the entries of blocks and of the log's frames as well
}

// File prints the file at path and returns how many places are damaged. The error says why the file
// could not be printed; damage, or unreadable parts after the header, are not errors.
func File(w io.Writer, path string, o Options) (damage int, err error) {
	return printFile(vfs.OS(), w, path, o)
}

// printFile is File on any file system.
func printFile(fs vfs.FS, w io.Writer, path string, o Options) (damage int, err error) {
	file, err := fs.Open(path)
	if err != nil {
		return 0, fmt.Errorf("open %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", path, err)
	}
	p := &printer{w: w, json: o.JSON}
	f := &source{Patient: vfs.NewPatient(file), path: path, size: size, blocks: o.Blocks}
	if err := f.print(p); err != nil {
		return p.damage, err
	}
	for _, h := range f.Holes() {
		p.damaged(h.At, "%d bytes cannot be read and were taken for zeros: %v", h.End-h.At, h.Err)
	}
	p.end()
	return p.damage, p.err
}

// source is the file that is printed.
type source struct {
	*vfs.Patient
	path   string
	size   int64
	blocks bool // print entries too
}

// print prints the file as what it is.
func (f *source) print(p *printer) error {
	if f.size == 0 {
		p.put(at(0).called("empty file").with(prose("meaning",
			"a lock file that no process has written its id into yet, or a file cut to nothing")))
		return nil
	}
	head, err := f.read(0, min(fileheader.Size, f.size))
	if err != nil {
		return err
	}
	kind, exact := f.kindOf(head)
	if holes := f.Holes(); kind == "" && len(holes) > 0 {
		return fmt.Errorf("what kind of file %s is cannot be told: %w", f.path, holes[0].Err)
	}
	if kind == "" {
		return f.printOther(p, head)
	}
	p.put(at(0).called(kind.String()).with(count(uint64(f.size), "byte")))
	if !exact {
		magic := quote(head[:min(len(kind), len(head))])
		p.damaged(0, "the magic is %s, taken for %s", magic, string(kind))
	}
	if !f.printHeader(p, head) {
		return nil
	}
	switch kind {
	case fileheader.Log:
		return f.printLog(p)
	case fileheader.Manifest:
		return f.printManifest(p)
	case fileheader.Table:
		return f.printTable(p)
	}
	f.printValues(p)
	return nil
}

// maxLockBytes is more than a lock file has.
const maxLockBytes = 64

// printOther prints a lock file, which has no header, or a file that has another one.
func (f *source) printOther(p *printer, head []byte) error {
	if bytes.HasPrefix(head, []byte(fileheader.Encrypted)) {
		p.put(at(0).called("encrypted file").with(count(uint64(f.size), "byte")))
		p.put(note("only the database can read it, with its key"))
		return nil
	}
	pid := vfs.ParseOwner(head)
	if pid == 0 || f.size > maxLockBytes {
		p.put(at(0).called("unknown file").with(count(uint64(f.size), "byte")))
		p.damaged(0, "it starts with %s, which no file of Stoat does", quote(head))
		return nil
	}
	p.put(at(0).called("lock file").with(count(uint64(f.size), "byte"),
		number("process", uint64(pid))))
	p.put(note("the process that opened the database last; whether it still has it open, the " +
		"system knows and the file does not"))
	return nil
}

func (f *source) printValues(p *printer) {
	p.put(at(fileheader.Size).called("values").with(count(uint64(f.size)-fileheader.Size, "byte")))
	p.put(note("where a value starts and which key has it is known only to the tables that point " +
		"here; \"stoat check\" on the database verifies them"))
}

// read returns the bytes [from, to) of the file, which lie within it.
func (f *source) read(from, to int64) ([]byte, error) {
	p := make([]byte, to-from)
	if n, err := f.ReadAt(p, from); n < len(p) {
		return nil, fmt.Errorf("read %s at offset %d: %w", f.path, from, err)
	}
	return p, nil
}
