package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/vfs"
)

// replay is the state of reading one segment.
type replay struct {
	window
	header fileheader.Header // as it should be
	seed   uint32

	newest uint64 // the last commit replayed, or to be left out
	next   uint64 // the commit that the next frame must belong to; 0 before the first frame

	// The transaction being read.
	open     bool
	start    int64     // offset of its first frame
	spans    []span    // its payloads in the file
	payloads []Payload // the same in memory; kept for its capacity
}

// Payload is the payload of a frame and its offset in the file.
type Payload struct {
	Bytes []byte
	At    int64
}

// span is a range of the file.
type span struct{ from, to int64 }

// Replay calls fn with the number and the payloads of each finished transaction of a segment with a
// number above after. The numbers are consecutive; the payloads are valid during the call. Replay
// returns the last number, or after if fn was not called.
//
// It stops at the first invalid frame, where a crash cut off writing. If a valid frame further on
// says that the bytes before it had been durable, they were damaged later, and the error matches
// corrupt.Err. A segment cut off before its header was durable is empty. Memory is bounded by the
// largest transaction.
func Replay(
	fs vfs.ReadOnly, dir string, number uint64, database [16]byte, after uint64,
	fn func(commit uint64, payloads []Payload) error,
) (last uint64, err error) {
	return ReplayFrom(fs, dir, number, database, 0, after, fn)
}

// ReplayFrom is [Replay] starting at the offset from, where a frame starts; 0 is the first frame. A
// payload ends where the next frame starts.
func ReplayFrom(
	fs vfs.ReadOnly, dir string, number uint64, database [16]byte, from int64, after uint64,
	fn func(commit uint64, payloads []Payload) error,
) (last uint64, err error) {
	r, err := openReplay(fs, dir, number, database)
	if err != nil {
		return after, err
	}
	defer func() { err = errors.Join(err, r.file.Close()) }()
	r.newest = after
	more, err := r.checkFileHeader()
	for at := max(from, fileheader.Size); more && err == nil; {
		at, more, err = r.frame(at, fn)
	}
	return r.newest, err
}

// openReplay opens a segment. The caller closes its file.
func openReplay(fs vfs.ReadOnly, dir string, number uint64, database [16]byte) (*replay, error) {
	path := filepath.Join(dir, folder.Log.Name(number))
	file, err := fs.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open log %06d: %w", number, err)
	}
	size, err := file.Size()
	if err != nil {
		return nil, fmt.Errorf("open log %06d: %w", number, errors.Join(err, file.Close()))
	}
	return newReplay(file, path, size, fileheader.New(fileheader.Log, number, database)), nil
}

// newReplay returns a replay of the first size bytes of a segment, whose header should be header.
func newReplay(file vfs.File, name string, size int64, header fileheader.Header) *replay {
	return &replay{
		window: window{file: file, name: name, size: size}, header: header, seed: header.Seed(),
	}
}

// checkFileHeader checks the file's header. begun is false if it was never completely written.
func (r *replay) checkFileHeader() (begun bool, err error) {
	got, err := r.view(0, min(fileheader.Size, r.size))
	if err != nil {
		return false, err
	}
	if r.header.CutOff(got) {
		return false, r.checkTail(0)
	}
	return true, r.header.Check(r.name, got)
}

// frame reads the frame at the offset at and, if it ends a transaction, replays the transaction. It
// returns the offset of the next frame; more is false at the end of the log.
func (r *replay) frame(
	at int64, fn func(commit uint64, payloads []Payload) error,
) (next int64, more bool, err error) {
	h, ok, err := r.read(at)
	if err != nil {
		return at, false, err
	}
	if !ok {
		return at, false, r.checkTail(at)
	}
	if err := r.checkOrder(h, at); err != nil {
		return at, false, err
	}
	r.add(h, at)
	if h.kind.ends() {
		err = r.commit(h.commit, h.end(at), fn)
	}
	return h.end(at), true, err
}

// add adds the frame at the offset at to the transaction being read. A first frame starts a new
// one.
func (r *replay) add(h frameHeader, at int64) {
	if h.kind.starts() {
		r.open, r.start, r.spans = true, at, r.spans[:0]
	}
	r.spans = append(r.spans, span{at + HeaderBytes, h.end(at)})
}

// read reads the frame at the offset at; ok is false if there is no valid one. The transaction
// being read stays in the window.
func (r *replay) read(at int64) (h frameHeader, ok bool, err error) {
	from := at
	if r.open {
		from = r.start
	}
	end := at + HeaderBytes
	if end > r.size {
		return h, false, nil
	}
	p, err := r.view(from, end)
	if err != nil {
		return h, false, err
	}
	h, ok = parseFrameHeader(p[at-from:], r.seed, at)
	if !ok || int64(h.length) > r.size-end {
		return h, false, nil
	}
	p, err = r.view(from, end+int64(h.length))
	if err != nil {
		return h, false, err
	}
	return h, checksum.Of(p[end-from:]) == h.payloadSum, nil
}

// checkOrder returns an error if the log cannot have written a valid frame at the offset at.
func (r *replay) checkOrder(h frameHeader, at int64) error {
	if r.next == 0 {
		if h.commit == 0 || h.commit-1 > r.newest {
			return corrupt.New(r.name, at, "commit %d follows commit %d", h.commit, r.newest)
		}
		r.next = h.commit
	}
	if reason := r.misplaced(h, at); reason != "" {
		return corrupt.New(r.name, at, "%s", reason)
	}
	return nil
}

// misplaced returns why a valid frame cannot follow the frames before it, or "" if it can.
func (r *replay) misplaced(h frameHeader, at int64) string {
	switch {
	case !h.kind.valid():
		return fmt.Sprintf("unknown frame kind %d", h.kind)
	case h.synced > uint64(at):
		return fmt.Sprintf("it says that %d bytes before it were durable", h.synced)
	case h.commit != r.next:
		return fmt.Sprintf("commit %d instead of commit %d", h.commit, r.next)
	case !r.open && !h.kind.starts():
		return fmt.Sprintf("commit %d has no first frame", h.commit)
	}
	return ""
}

// commit ends the transaction being read at the offset end, and calls fn with it if it is new.
func (r *replay) commit(
	number uint64, end int64, fn func(commit uint64, payloads []Payload) error,
) error {
	r.open, r.next = false, number+1
	if number <= r.newest {
		return nil
	}
	p, err := r.view(r.start, end)
	if err != nil {
		return err
	}
	r.payloads = r.payloads[:0]
	for _, s := range r.spans {
		r.payloads = append(r.payloads, Payload{p[s.from-r.start : s.to-r.start : s.to-r.start], s.from})
	}
	if err := fn(number, r.payloads); err != nil {
		return fmt.Errorf("replay commit %d of %s: %w", number, r.name, err)
	}
	r.newest = number
	return nil
}

// checkTail returns an error if the bytes at the offset at, which are not a valid frame, were once
// durable: a frame further on says so. It takes linear time.
func (r *replay) checkTail(at int64) error {
	var synced uint64
	found, err := r.seek(at+1, func(h frameHeader, further int64) (bool, error) {
		synced = h.synced
		return h.kind.valid() && h.synced > uint64(at) && h.synced <= uint64(further), nil
	})
	if err != nil || found == r.size {
		return err
	}
	return corrupt.New(r.name, at, "invalid frame, but the frame at offset %d says that the "+
		"first %d bytes were durable", found, synced)
}

// stepBytes is how many zeros seek skips at a time.
const stepBytes = 4 << 10

// seek returns the offset of the first frame from the offset from on whose header is valid and that
// accept takes, or the file's size if it takes none. Between calls of accept it takes linear time.
func (r *replay) seek(
	from int64, accept func(h frameHeader, at int64) (bool, error),
) (at int64, err error) {
	for at = from; at+HeaderBytes <= r.size; at++ {
		p, err := r.view(at, min(at+stepBytes, r.size))
		if err != nil {
			return 0, err
		}
		for len(p) >= HeaderBytes+8 && binary.LittleEndian.Uint64(p[kindAt:]) == 0 {
			at, p = at+8, p[8:] // no kind starts in these eight bytes
		}
		word := binary.LittleEndian.Uint64(p[kindAt:])
		if kind(word) >= kinds {
			continue // spares a checksum
		}
		if h, valid := parseFrameHeader(p, r.seed, at); valid {
			if ok, err := accept(h, at); ok || err != nil {
				return at, err
			}
		}
	}
	return r.size, nil
}
