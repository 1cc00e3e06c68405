package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"

	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// margaretReader reads a Margaret log of the kind offset2: a folder of three files, all numbers in
// them int64 and big-endian. It is not safe for concurrent use.
//
//	data: the entries, each its length and its bytes; a redacted entry has a negative length
//	ofst: where in data each entry begins
//	jrnl: the number of the last entry, from 0; the file is empty before the first one
//
// An entry counts if ofst names it. Whatever a crash left after the last such entry, or cut off its
// end, is the torn tail.
type margaretReader struct {
	dir              string // absolute
	data, ofst, jrnl *importFile

	entries int64 // that ofst names
	payload *bufio.Reader
	starts  *bufio.Reader
	at      intake.Position // the number of the next entry, and where in data it begins
	torn    bool            // data ends within that
	value   []byte
}

const lengthBytes = 8

func openMargaret(name string) (entryReader, error) {
	dir, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	r := &margaretReader{dir: dir}
	for _, of := range []struct {
		file **importFile
		name string
	}{{&r.data, "data"}, {&r.ofst, "ofst"}, {&r.jrnl, "jrnl"}} {
		if *of.file, err = openImport(filepath.Join(dir, of.name)); err != nil {
			return nil, errors.Join(fmt.Errorf("%s is not a Margaret log (offset2), which has the files "+
				"data, ofst and jrnl: %w", name, err), r.close())
		}
	}
	r.entries = r.ofst.size() / lengthBytes
	return r, nil
}

func (r *margaretReader) source() intake.Source {
	return intake.Source{
		Kind: "margaret", Path: r.dir, Identity: intake.Identity(r.data.info, r.ofst.info, r.jrnl.info),
	}
}

func (r *margaretReader) size() int64               { return r.data.size() }
func (r *margaretReader) done() int64               { return r.at.Offset }
func (r *margaretReader) once() bool                { return false }
func (r *margaretReader) position() intake.Position { return r.at }

func (r *margaretReader) close() error {
	var err error
	for _, f := range []*importFile{r.data, r.ofst, r.jrnl} {
		if f != nil {
			err = errors.Join(err, f.close())
		}
	}
	return err
}

func (r *margaretReader) seek(at intake.Position) error {
	r.at = at
	r.payload = section(r.data, at.Offset)
	r.starts = section(r.ofst, at.Record*lengthBytes)
	return nil
}

// section returns a reader of what the file had from offset on when it was opened.
func section(f *importFile, offset int64) *bufio.Reader {
	return bufio.NewReaderSize(io.NewSectionReader(f.f, offset, f.size()-offset), 1<<16)
}

func (r *margaretReader) where() string {
	return fmt.Sprintf("%s entry %d, data offset %d", r.dir, r.at.Record, r.at.Offset)
}

func (r *margaretReader) next() (sourceEntry, error) {
	if r.at.Record == r.entries || r.torn {
		return sourceEntry{}, errImported
	}
	start, err := readInt64(r.starts)
	if err != nil {
		return sourceEntry{}, err
	}
	if start != r.at.Offset {
		return sourceEntry{}, fmt.Errorf("ofst says %d, but that is not where the entry before ends: "+
			"one of the files is damaged", start)
	}
	left := r.data.size() - start - lengthBytes
	if left < 0 {
		return sourceEntry{}, r.tear()
	}
	length, err := readInt64(r.payload)
	if err != nil {
		return sourceEntry{}, err
	}
	redacted := length < 0
	if redacted {
		length = -length
	}
	if length > left || length == math.MinInt64 {
		return sourceEntry{}, r.tear()
	}
	if length > valueBytesMax {
		return sourceEntry{}, fmt.Errorf("%s, and a value has at most %s",
			progress.Bytes(float64(length)), progress.Bytes(valueBytesMax))
	}
	return r.entry(length, redacted)
}

// tear ends the log before the next entry, which data holds only in part. The error is errImported,
// or reports damage if ofst names a later entry within data.
func (r *margaretReader) tear() error {
	if r.at.Record+1 < r.entries {
		after, err := r.starts.Peek(lengthBytes)
		if err != nil {
			return err
		}
		if start := int64(binary.BigEndian.Uint64(after)); start < r.data.size() {
			return fmt.Errorf("the entry would end behind data, but ofst says that the next one "+
				"begins at %d: one of the files is damaged", start)
		}
	}
	r.torn = true
	return errImported
}

// entry reads what follows the length.
func (r *margaretReader) entry(length int64, redacted bool) (sourceEntry, error) {
	if int64(cap(r.value)) < length {
		r.value = make([]byte, length)
	}
	r.value = r.value[:length]
	if _, err := io.ReadFull(r.payload, r.value); err != nil {
		return sourceEntry{}, err
	}
	r.at.Record++
	r.at.Offset += lengthBytes + length
	return sourceEntry{value: r.value, redacted: redacted}, nil
}

// readInt64 returns the next number.
func readInt64(r *bufio.Reader) (int64, error) {
	var b [lengthBytes]byte
	_, err := io.ReadFull(r, b[:])
	return int64(binary.BigEndian.Uint64(b[:])), err
}

// findings says where the three files disagree, or that they agree.
func (r *margaretReader) findings() []string {
	var found []string
	if left := r.data.size() - r.at.Offset; left > 0 {
		tail := fmt.Sprintf("torn tail: %s of data behind the last whole entry that ofst names",
			progress.Counted(left, "byte"))
		if n := r.wholeBehind(); n > 0 {
			tail += fmt.Sprintf(", which look like %s that ofst does not name", countedEntries(n))
		}
		found = append(found, tail)
	}
	if missing := r.entries - r.at.Record; missing > 0 {
		found = append(found, fmt.Sprintf("torn tail: ofst names %s that data does not have whole",
			countedEntries(missing)))
	}
	if rest := r.ofst.size() % lengthBytes; rest > 0 {
		found = append(found, fmt.Sprintf("torn tail: ofst ends with %s of a number",
			progress.Counted(rest, "byte")))
	}
	last, err := r.last()
	switch {
	case err != nil:
		found = append(found, "jrnl: "+err.Error())
	case last+1 != r.entries:
		found = append(found, fmt.Sprintf("jrnl counts %s, and ofst names %s",
			countedEntries(last+1), progress.Count(r.entries)))
	}
	if found == nil {
		found = append(found, "consistent: data, ofst and jrnl agree on "+countedEntries(r.entries))
	}
	return found
}

// wholeBehind returns the number of complete, non-empty entries in data after the last one.
func (r *margaretReader) wholeBehind() int64 {
	n := int64(0)
	if r.torn {
		return n
	}
	for at := r.at.Offset; ; n++ {
		var b [lengthBytes]byte
		if _, err := r.data.f.ReadAt(b[:], at); err != nil {
			return n
		}
		length := int64(binary.BigEndian.Uint64(b[:]))
		if length < 0 {
			length = -length
		}
		if length <= 0 || length > r.data.size()-at-lengthBytes {
			return n
		}
		at += lengthBytes + length
	}
}

// last returns the number in jrnl, or -1 if it is empty.
func (r *margaretReader) last() (int64, error) {
	switch size := r.jrnl.size(); size {
	case 0:
		return -1, nil
	case lengthBytes:
		return readInt64(section(r.jrnl, 0))
	default:
		return 0, fmt.Errorf("%s, and a number has %d", progress.Counted(size, "byte"), lengthBytes)
	}
}
