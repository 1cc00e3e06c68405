package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// jsonlReader reads lines of JSON; empty ones do not count. It is not safe for concurrent use.
type jsonlReader struct {
	*importText
	o      *importFlags
	r      *bufio.Reader
	offset int64 // behind the last line
	lines  int64 // up to there
	line   []byte
	fields jsonObject // of the last line
}

func openJSONL(ctx context.Context, s *stdio, o *importFlags) (entryReader, error) {
	text, err := openText(ctx, s, "jsonl", o.jsonl)
	if err != nil {
		return nil, err
	}
	return &jsonlReader{importText: text, o: o}, nil
}

func (r *jsonlReader) seek(at intake.Position) (err error) {
	r.lines = at.Record
	r.r, r.offset, err = r.from(at.Offset)
	return err
}

func (r *jsonlReader) position() intake.Position {
	return intake.Position{Offset: r.offset, Record: r.lines}
}

func (r *jsonlReader) where() string { return fmt.Sprintf("%s line %d", r.name, r.lines) }

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

// read reads a line of any length and keeps at most entryBytesMax of it.
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
			return badf("longer than %s", progress.Bytes(entryBytesMax))
		}
		return nil
	}
}

// entry returns the entry that a line holds.
func (r *jsonlReader) entry(line []byte) (sourceEntry, error) {
	if !utf8.Valid(line) {
		return sourceEntry{}, badf("not valid UTF-8, and so no JSON")
	}
	if !json.Valid(line) {
		var value json.RawMessage
		return sourceEntry{}, badf("not JSON: %w", json.Unmarshal(line, &value))
	}
	if r.o.key == "" && r.o.value == "" && r.o.expires == "" {
		return sourceEntry{value: line}, nil
	}
	if !r.fields.parse(line) {
		return sourceEntry{}, badf("not a JSON object, so that there is no field %q",
			cmp.Or(r.o.key, r.o.value, r.o.expires))
	}
	return r.object(line)
}

// object returns the entry of a line that is a JSON object.
func (r *jsonlReader) object(line []byte) (e sourceEntry, err error) {
	e.value = line
	if r.o.key != "" {
		if e.key, err = fieldKey(&r.fields, r.o.key); err == nil {
			err = checkKey(e.key)
		}
	}
	if err == nil && r.o.value != "" {
		var found bool
		if e.value, _, found, err = fieldBytes(&r.fields, r.o.value); err == nil && !found {
			err = badf("no field %q to be the value", r.o.value)
		}
	}
	if err == nil && r.o.expires != "" {
		text, _, _, fieldErr := fieldBytes(&r.fields, r.o.expires)
		if err = fieldErr; err == nil && string(text) != "null" {
			e.expires, err = parseExpiry(string(text))
		}
	}
	return e, err
}

// fieldKey returns the key from a field of a JSON object: the bytes of a string, or a number as it
// is written.
func fieldKey(o *jsonObject, name string) ([]byte, error) {
	key, isText, found, err := fieldBytes(o, name)
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, badf("no field %q to be the key", name)
	case !isText && bytes.IndexByte([]byte("{[tfn"), key[0]) >= 0:
		return nil, badf("the field %q is neither a text nor a number", name)
	}
	return key, nil
}
