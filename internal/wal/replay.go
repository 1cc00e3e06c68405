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
	seed uint32

	newest uint64 // commit replayed, or not to be replayed
	next   uint64 // the number that the next frame must have; 0 before the first frame

	// The transaction being read.
	open     bool
	start    int64     // where its first frame lies
	spans    []span    // its payloads
	payloads []Payload // the same in memory; kept for its capacity
}

// Payload is what a frame holds, and where that lies in the file.
type Payload struct {
	Bytes []byte
	At    int64
}

// span is a range of the file.
type span struct{ from, to int64 }

// Replay calls fn with each finished transaction of a segment whose number is above after, in
// order: its number, which is one more than the one before, and the payloads of its frames, which
// are valid during the call. It returns the last number, or after if there was none.
//
// It stops at the first invalid frame: there the writing was cut off. If a valid one further on
// says that the bytes in between had been durable, they were damaged later, and the error matches
// corrupt.Err. A segment that was cut off before its header was durable holds nothing. Memory is
// bounded by the largest transaction.
func Replay(
	fs vfs.Files, dir string, number uint64, database [16]byte, after uint64,
	fn func(commit uint64, payloads []Payload) error,
) (last uint64, err error) {
	return ReplayFrom(fs, dir, number, database, 0, after, fn)
}

// ReplayFrom is Replay without what lies before the offset from, where a frame starts; 0 stands for
// the first. A payload ends where the next frame starts.
func ReplayFrom(
	fs vfs.Files, dir string, number uint64, database [16]byte, from int64, after uint64,
	fn func(commit uint64, payloads []Payload) error,
) (last uint64, err error) {
	path := filepath.Join(dir, folder.Log.Name(number))
	file, err := fs.Open(path)
	if err != nil {
		return after, fmt.Errorf("open log %06d: %w", number, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	size, err := file.Size()
	if err != nil {
		return after, fmt.Errorf("open log %06d: %w", number, err)
	}
	header := fileheader.New(fileheader.Log, number, database)
	r := &replay{
		window: window{file: file, name: path, size: size}, seed: header.Seed(), newest: after,
	}
	begun, err := r.checkFileHeader(header)
	for at := max(from, fileheader.Size); begun && err == nil; {
		at, begun, err = r.frame(at, fn)
	}
	return r.newest, err
}

// checkFileHeader compares the file's header with the one that it should have. begun is false if it
// was never completely written.
func (r *replay) checkFileHeader(want fileheader.Header) (begun bool, err error) {
	got, err := r.view(0, min(fileheader.Size, r.size))
	if err != nil {
		return false, err
	}
	if want.CutOff(got) {
		return false, r.checkTail(0)
	}
	return true, want.Check(r.name, got)
}

// frame reads the frame at the offset at and, if it ends a transaction, replays that. It returns
// where the next frame starts; more is false at the end of the log.
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
	if h.kind.starts() {
		r.open, r.start, r.spans = true, at, r.spans[:0]
	}
	payload := at + HeaderBytes
	next = payload + int64(h.length)
	r.spans = append(r.spans, span{payload, next})
	if h.kind.ends() {
		err = r.commit(h.commit, next, fn)
	}
	return next, true, err
}

// read reads the frame at the offset at. The transaction that it may continue stays in the window.
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

// checkOrder returns an error if a valid frame is not one that can be written at this place.
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

// misplaced returns what is wrong with the place of a frame behind those that were read, if
// anything is.
func (r *replay) misplaced(h frameHeader, at int64) string {
	switch {
	case !h.kind.valid():
		return fmt.Sprintf("unknown kind %d of frame", h.kind)
	case h.synced > uint64(at):
		return fmt.Sprintf("%d bytes before it were durable", h.synced)
	case h.commit != r.next:
		return fmt.Sprintf("commit %d in the place of commit %d", h.commit, r.next)
	case !r.open && !h.kind.starts():
		return fmt.Sprintf("commit %d has no first frame", h.commit)
	}
	return ""
}

// commit replays the transaction being read, which ends at the offset end, if it is new.
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

// checkTail returns an error if the bytes at the offset at, which are no valid frame, were durable
// once. It looks for headers that say so at every place behind, which takes linear time.
func (r *replay) checkTail(at int64) error {
	for from := at + 1; r.size-from >= HeaderBytes; {
		p, err := r.view(from, min(from+windowBytes, r.size))
		if err != nil {
			return err
		}
		for i := 0; i+HeaderBytes <= len(p); i++ {
			word := binary.LittleEndian.Uint64(p[i+kindAt:])
			if word == 0 {
				i += 7 // none of these eight bytes is a kind
				continue
			}
			if !kind(word).valid() {
				continue
			}
			place := from + int64(i)
			h, ok := parseFrameHeader(p[i:], r.seed, place)
			if ok && h.synced > uint64(at) && h.synced <= uint64(place) {
				return corrupt.New(r.name, at, "invalid frame, though by the one at offset %d the "+
					"first %d bytes were durable", place, h.synced)
			}
		}
		from += int64(len(p)) - HeaderBytes + 1
	}
	return nil
}
