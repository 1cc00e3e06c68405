package replica

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// The beginning of an exported file: a text and a version.
const (
	fileMagic   = "stoat.space"
	fileVersion = 1
)

// The frames of a file.
const (
	fileSpace      byte = 1 // the id of the space and its description, which may be empty
	fileHeads      byte = 2 // uvarint count; logs, uvarint numbers of entries, the last hashes
	fileRun        byte = 3 // log, uvarint first, uvarint count, texts, seal
	fileEnd        byte = 4 // the uvarint number of runs
	fileProof      byte = 5 // a fork proof
	fileCheckpoint byte = 6 // an offer of a checkpoint, as sessions have it
	fileChunk      byte = 7 // a chunk of its state, as sessions have it
	fileHolds      byte = 8 // whose content the exporter asks for: texts, ascending
)

const (
	fileDomain   = "stoat.replica.file.v1"
	fileCheck    = 8    // bytes of a checksum
	fileHeadsMax = 4096 // heads in a frame
)

// ErrCut reports a file that ends too early: it was not copied to its end.
var ErrCut = errors.New("the file is cut off: copy or export it again")

// frameWriter writes the frames of a file. The checksum of each covers all before it, so none can
// be lost, repeated or moved. It is not safe for concurrent use.
type frameWriter struct {
	w     io.Writer
	chain [32]byte
	buf   []byte
}

// newFrameWriter writes the beginning of a file.
func newFrameWriter(w io.Writer) (*frameWriter, error) {
	begin := append([]byte(fileMagic), fileVersion)
	_, err := w.Write(begin)
	return &frameWriter{w: w, chain: sha256.Sum256(begin)}, err
}

// write writes a frame.
func (f *frameWriter) write(kind byte, p []byte) error {
	f.chain = nextChain(&f.chain, kind, p)
	f.buf = wire.AppendBytes(append(f.buf[:0], kind), p)
	f.buf = append(f.buf, f.chain[:fileCheck]...)
	_, err := f.w.Write(f.buf)
	return err
}

// nextChain returns the checksum of a frame, given the one of the frame before.
func nextChain(chain *[32]byte, kind byte, p []byte) (next [32]byte) {
	sum := sha256.New()
	sum.Write([]byte(fileDomain))
	sum.Write(chain[:])
	sum.Write([]byte{kind})
	sum.Write(p)
	sum.Sum(next[:0])
	return next
}

// frameReader reads the frames of a file. It is not safe for concurrent use.
type frameReader struct {
	r     io.Reader
	chain [32]byte
	at    int64 // bytes read
}

// newFrameReader reads the beginning of a file.
func newFrameReader(r io.Reader) (*frameReader, error) {
	f := &frameReader{r: r}
	begin := make([]byte, len(fileMagic)+1)
	err := f.full(begin)
	if err != nil && (!errors.Is(err, ErrCut) || strings.HasPrefix(fileMagic, string(begin[:f.at]))) {
		return nil, err
	}
	switch version := begin[len(fileMagic)]; {
	case !bytes.HasPrefix(begin, []byte(fileMagic)):
		return nil, errors.New("the file is not an export of a space")
	case version > fileVersion:
		return nil, fmt.Errorf("the file has version %d: %w", version, ErrNewer)
	case version == 0:
		return nil, ErrCut
	}
	f.chain = sha256.Sum256(begin)
	return f, nil
}

// full fills p.
func (f *frameReader) full(p []byte) error {
	n, err := io.ReadFull(f.r, p)
	f.at += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}

// read reads a frame. The error is [ErrCut] at the end of the file, which a whole file does not
// reach: it ends with a frame that says so.
func (f *frameReader) read() (kind byte, p []byte, err error) {
	start := f.at
	var first [1]byte
	if err := f.full(first[:]); err != nil {
		return 0, nil, err
	}
	kind = first[0]
	n, err := f.length()
	if err != nil {
		return 0, nil, err
	}
	if n > frameSize(kind) {
		return 0, nil, f.damaged(start)
	}
	for left := int(n); left > 0; left = int(n) - len(p) { // as the bytes arrive
		from := len(p)
		p = append(p, make([]byte, min(left, 64<<10))...)
		if err := f.full(p[from:]); err != nil {
			return 0, nil, err
		}
	}
	var check [fileCheck]byte
	if err := f.full(check[:]); err != nil {
		return 0, nil, err
	}
	f.chain = nextChain(&f.chain, kind, p)
	if !bytes.Equal(check[:], f.chain[:fileCheck]) {
		return 0, nil, f.damaged(start)
	}
	if kind == 0 || kind > fileHolds {
		return 0, nil, fmt.Errorf("byte %d of the file: %w", start, ErrNewer)
	}
	return kind, p, nil
}

// length reads a uvarint.
func (f *frameReader) length() (uint64, error) {
	start := f.at
	var p [binary.MaxVarintLen64]byte
	for i := range p {
		if err := f.full(p[i : i+1]); err != nil {
			return 0, err
		}
		if p[i] < 0x80 {
			r := wire.NewReader(p[:i+1])
			n := r.Uvarint()
			if r.Err() != nil {
				break
			}
			return n, nil
		}
	}
	return 0, f.damaged(start)
}

// damaged returns the error for a frame that was changed after it was written.
func (f *frameReader) damaged(start int64) error {
	return fmt.Errorf("byte %d of the file: %w: copy or export it again", start, stoat.ErrCorrupt)
}

// Limits of files.
const (
	frameMax = 17 << 20      // bytes of a frame: a run and one entry more
	mergeMax = 4 << 20       // bytes of runs that are merged in one transaction
	helloMax = 32 + 2 + 2048 // the id of a space, and its description
)

// frameSize returns the most bytes of the content of a frame.
func frameSize(kind byte) uint64 {
	switch kind {
	case fileCheckpoint:
		return session.OfferMax
	case fileChunk:
		return chunk.FormMax + 2*binary.MaxVarintLen64
	}
	return frameMax
}

// append appends a run as files have it.
func (r *run) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, r.log[:]...), r.first)
	dst = binary.AppendUvarint(dst, uint64(len(r.entries)))
	for _, e := range r.entries {
		dst = wire.AppendBytes(dst, e)
	}
	return append(dst, r.seal[:]...)
}

// parseRun decodes a run, which refers to p.
func parseRun(p []byte) (*run, error) {
	r := wire.NewReader(p)
	got := &run{log: r.Hash(), first: r.Uvarint()}
	if got.first >= 1<<48 {
		r.Fail("an entry has the number %d", got.first)
	}
	got.entries = make([][]byte, r.Count(runEntries, 1))
	for i := range got.entries {
		got.entries[i] = r.Bytes(1, entry.SizeMax)
	}
	copy(got.seal[:], r.Take(len(got.seal)))
	return got, r.End()
}
