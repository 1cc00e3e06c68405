package wal

import (
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Extent is what of a segment file is to be there.
type Extent struct {
	Path     string
	Number   uint64
	Database [16]byte
	Size     int64  // so many bytes were written, zeros that were preallocated included
	Through  uint64 // the newest commit among them; 0 if there is none
}

// Verify reads a segment file as [Replay] does, and returns an error if that would not find what is
// to be there. What lies behind that it leaves alone, so that the segment may be written meanwhile.
// It calls read with how many bytes it has verified since the last call; an
// error of it ends Verify, which returns it. It keeps one frame in memory.
func Verify(file vfs.File, w Extent, read func(bytes uint64) error) error {
	size, err := file.Size()
	if err != nil {
		return err
	}
	size = min(size, w.Size)
	header := fileheader.New(fileheader.Log, w.Number, w.Database)
	r := &replay{
		window: window{file: file, name: w.Path, size: size}, seed: header.Seed(), newest: w.Through,
	}
	more, err := r.checkFileHeader(header)
	at := int64(fileheader.Size)
	for more && err == nil && r.next <= w.Through && w.Through > 0 {
		from := at
		at, more, err = r.frame(at, func(uint64, []Payload) error { return nil })
		if err == nil {
			err = read(uint64(at - from))
		}
		r.start, r.spans = at, r.spans[:0] // what was verified is not needed any more
	}
	if err == nil && r.next < w.Through+1 && w.Through > 0 {
		err = corrupt.New(w.Path, at, "the log ends here, want all up to commit %d", w.Through)
	}
	return err
}
