package wal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// Blank reports whether nothing was ever written to a segment but its header.
func Blank(fs vfs.Files, dir string, number uint64) (blank bool, err error) {
	file, err := fs.Open(filepath.Join(dir, folder.Log.Name(number)))
	if err != nil {
		return false, fmt.Errorf("open log %06d: %w", number, err)
	}
	size, err := file.Size()
	return size <= fileheader.Size, errors.Join(err, file.Close())
}

// First returns the number of the transaction that a segment starts with. It reads nothing but the
// first header; ok is false if that is none, whatever the reason. The segment may be written at the
// same time.
func First(
	fs vfs.Files, dir string, number uint64, database [16]byte,
) (commit uint64, ok bool, err error) {
	file, err := fs.Open(filepath.Join(dir, folder.Log.Name(number)))
	if err != nil {
		return 0, false, fmt.Errorf("open log %06d: %w", number, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var p [fileheader.Size + HeaderBytes]byte
	if n, err := file.ReadAt(p[:], 0); n < len(p) {
		if errors.Is(err, io.EOF) {
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("read log %06d: %w", number, err)
	}
	header := fileheader.New(fileheader.Log, number, database)
	h, ok := parseFrameHeader(p[fileheader.Size:], header.Seed(), fileheader.Size)
	ok = ok && h.kind.starts() && header.Check("", p[:]) == nil
	return h.commit, ok, nil
}
