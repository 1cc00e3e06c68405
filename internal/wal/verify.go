package wal

import (
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Extent is the part of a segment file that must be intact.
type Extent struct {
	Path     string
	Number   uint64
	Database [16]byte
	Size     int64  // bytes that were written, including preallocated zeros
	Through  uint64 // the newest commit among them; 0 if there is none
}

// Verify reads a segment file as [Replay] does, and returns an error if the replay would not find
// all of the extent. It ignores the rest, so the segment may be written meanwhile. It calls read
// with the number of bytes verified since the last call; an error from read ends Verify, which
// returns it. It keeps one frame in memory.
func Verify(file vfs.File, w Extent, read func(bytes uint64) error) error {
	size, err := file.Size()
	if err != nil {
		return err
	}
	header := fileheader.New(fileheader.Log, w.Number, w.Database)
	r := newReplay(file, w.Path, min(size, w.Size), header)
	r.newest = w.Through
	more, err := r.checkFileHeader()
	at := int64(fileheader.Size)
	for more && err == nil && r.next <= w.Through && w.Through > 0 {
		from := at
		at, more, err = r.frame(at, func(uint64, []Payload) error { return nil })
		if err == nil {
			err = read(uint64(at - from))
		}
		r.start, r.spans = at, r.spans[:0] // verified frames need not stay in memory
	}
	if err == nil && r.next < w.Through+1 && w.Through > 0 {
		err = corrupt.New(w.Path, at, "the log ends here, but was written up to commit %d", w.Through)
	}
	return err
}
