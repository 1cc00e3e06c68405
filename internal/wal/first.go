package wal

import (
	"errors"
	"fmt"
	"io"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Blank reports whether a segment has no bytes after its header.
func Blank(fs vfs.ReadOnly, dir string, number uint64) (blank bool, err error) {
	r, err := openReplay(fs, dir, number, [16]byte{})
	if err != nil {
		return false, err
	}
	return r.size <= fileheader.Size, r.file.Close()
}

// First returns the number of the first transaction in a segment, which may be written meanwhile.
// It reads the file header and the first frame's header only; ok is false if either is invalid or
// missing.
func First(
	fs vfs.ReadOnly, dir string, number uint64, database [16]byte,
) (commit uint64, ok bool, err error) {
	r, err := openReplay(fs, dir, number, database)
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, r.file.Close()) }()
	var p [fileheader.Size + HeaderBytes]byte
	if n, err := r.file.ReadAt(p[:], 0); n < len(p) {
		if errors.Is(err, io.EOF) {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("read log %06d: %w", number, err)
	}
	h, ok := parseFrameHeader(p[fileheader.Size:], r.seed, fileheader.Size)
	ok = ok && h.kind.starts() && r.header.Check("", p[:]) == nil
	return h.commit, ok, nil
}
