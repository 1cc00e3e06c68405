package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/intake"
)

// jsonlReader reads lines of JSON; empty ones do not count. It is not safe for concurrent use.
type jsonlReader struct {
	*importFile
	key    string // the field; empty: none
	r      *bufio.Reader
	offset int64 // behind the last line
	lines  int64 // up to there
	line   []byte
}

func openJSONL(name, key string) (entryReader, error) {
	f, err := openImport("jsonl", name)
	if err != nil {
		return nil, err
	}
	return &jsonlReader{importFile: f, key: key}, nil
}

func (r *jsonlReader) seek(at intake.Position) (err error) {
	r.lines = at.Record
	r.r, r.offset, err = r.from(at.Offset)
	return err
}

func (r *jsonlReader) position() intake.Position {
	return intake.Position{Offset: r.offset, Record: r.lines}
}

func (r *jsonlReader) where() string { return fmt.Sprintf("%s line %d", r.path, r.lines) }

func (r *jsonlReader) next() (sourceEntry, error) {
	for {
		if err := r.read(); err != nil {
			return sourceEntry{}, err
		}
		if line := bytes.Trim(r.line, " \t\r\n"); len(line) > 0 {
			return r.entry(line)
		}
	}
}

// read reads a line of any length, of which it keeps no more than entryBytesMax.
func (r *jsonlReader) read() error {
	size := 0
	r.line = r.line[:0]
	for {
		part, err := r.r.ReadSlice('\n')
		size += len(part)
		if size <= entryBytesMax {
			r.line = append(r.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && size == 0:
			return errImported
		case err != nil && !errors.Is(err, io.EOF):
			return err
		}
		r.offset += int64(size)
		r.lines++
		if size > entryBytesMax {
			return badf("longer than %s", byteText(entryBytesMax))
		}
		return nil
	}
}

// entry returns the entry that a line is.
func (r *jsonlReader) entry(line []byte) (sourceEntry, error) {
	if !utf8.Valid(line) {
		return sourceEntry{}, badf("not valid UTF-8, and so no JSON")
	}
	if !json.Valid(line) {
		var value json.RawMessage
		return sourceEntry{}, badf("not JSON: %w", json.Unmarshal(line, &value))
	}
	if r.key == "" {
		return sourceEntry{value: line}, nil
	}
	key, err := fieldKey(line, r.key)
	if err == nil {
		err = checkKey(key)
	}
	return sourceEntry{key: key, value: line}, err
}

// fieldKey returns the key that a field of a JSON object makes: the bytes of a text, or a number as
// it stands there.
func fieldKey(object []byte, name string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(object, &fields); err != nil || fields == nil {
		return nil, badf("not a JSON object, so that there is no field %q to be the key", name)
	}
	field, ok := fields[name]
	if !ok {
		return nil, badf("no field %q to be the key", name)
	}
	switch field[0] {
	case '"':
		var text string
		if err := json.Unmarshal(field, &text); err != nil {
			return nil, badf("the field %q: %w", name, err)
		}
		return []byte(text), nil
	case '{', '[', 't', 'f', 'n':
		return nil, badf("the field %q is neither a text nor a number", name)
	}
	return field, nil
}
