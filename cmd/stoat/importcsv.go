package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/intake"
	"github.com/stoatdb/stoat/internal/commands/jsontext"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// csvReader reads the rows under a header, as JSON objects or as the columns of entries. It is not
// safe for concurrent use.
type csvReader struct {
	*importText
	delimiter []byte
	quotes    bool
	columns   []string
	key       int // the column; -1: none
	value     int // -1: none, and the value is the row
	expires   int // -1: none
	encoded   struct{ key, value bool }

	rows   *rowReader
	object []byte // of the last row
}

// openCSV opens a file of comma-separated values, or of tab-separated ones, and reads its header.
func openCSV(
	ctx context.Context, s *stdio, o *importFlags, kind, name string,
) (entryReader, error) {
	r := &csvReader{quotes: kind == "csv"}
	var err error
	if r.delimiter, err = parseDelimiter(o.delimiter); err != nil {
		return nil, err
	}
	if !r.quotes {
		r.delimiter = []byte("\t")
	}
	if r.importText, err = openText(ctx, s, kind, name); err != nil {
		return nil, err
	}
	if err := r.header(o); err != nil {
		r.close() // nothing was written
		if errors.Is(err, errInterrupted) {
			return nil, err
		}
		return nil, fmt.Errorf("%s, the header: %w", r.name, err)
	}
	return r, nil
}

// header reads the first row.
func (r *csvReader) header(o *importFlags) error {
	if err := r.open(intake.Position{}); err != nil {
		return err
	}
	row, err := r.rows.next()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: the first row has the names of the columns")
	}
	if err != nil {
		return err
	}
	for i, name := range row {
		switch {
		case !utf8.Valid(name):
			return fmt.Errorf("column %d: the name is not valid UTF-8", i+1)
		case len(name) == 0:
			return fmt.Errorf("column %d has no name", i+1)
		case slices.Contains(r.columns, string(name)):
			return fmt.Errorf("two columns are named %q", name)
		}
		r.columns = append(r.columns, string(name))
	}
	if r.key, r.encoded.key, err = r.column(o.key, "key"); err != nil {
		return err
	}
	if r.value, r.encoded.value, err = r.column(o.value, "value"); err != nil {
		return err
	}
	r.expires, _, err = r.column(o.expires, "time of expiry")
	return err
}

// column returns the index of the column of that name, or of its base64, and -1 without a name.
func (r *csvReader) column(name, role string) (index int, encoded bool, err error) {
	if name == "" {
		return -1, false, nil
	}
	if index = slices.Index(r.columns, name); index >= 0 {
		return index, false, nil
	}
	if index = slices.Index(r.columns, name+base64Suffix); index >= 0 {
		return index, true, nil
	}
	hint := ""
	if len(r.columns) == 1 {
		for _, sign := range []string{";", "\t", ",", "|"} {
			if bytes.Contains([]byte(r.columns[0]), []byte(sign)) {
				hint = fmt.Sprintf(": all columns are one, %q; is the delimiter another?", r.columns[0])
			}
		}
	}
	return 0, false, fmt.Errorf("there is no column %q to be the %s%s", name, role, hint)
}

func (r *csvReader) seek(at intake.Position) error {
	if at.Offset == 0 {
		return nil // behind the header
	}
	return r.open(at)
}

// open reads on at a place.
func (r *csvReader) open(at intake.Position) error {
	text, offset, err := r.importText.from(at.Offset)
	if err != nil {
		return err
	}
	r.rows = &rowReader{
		r: text, delimiter: r.delimiter, quotes: r.quotes, offset: offset, lines: at.Record,
	}
	return nil
}

func (r *csvReader) position() intake.Position {
	return intake.Position{Offset: r.rows.offset, Record: r.rows.lines}
}

func (r *csvReader) where() string { return fmt.Sprintf("%s line %d", r.name, r.rows.line) }

func (r *csvReader) next() (sourceEntry, error) {
	row, err := r.rows.next()
	if errors.Is(err, io.EOF) {
		return sourceEntry{}, errImported
	}
	if err != nil {
		return sourceEntry{}, err
	}
	return r.entry(row)
}

// entry returns the entry that a row is.
func (r *csvReader) entry(row [][]byte) (e sourceEntry, err error) {
	if len(row) != len(r.columns) {
		return e, badf("%s, and the header has %d", progress.Counted(int64(len(row)), "field"),
			len(r.columns))
	}
	for i, field := range row {
		if !utf8.Valid(field) {
			return e, badf("column %q is not valid UTF-8", r.columns[i])
		}
	}
	if r.key >= 0 {
		if e.key, err = decoded(row[r.key], r.encoded.key, r.columns[r.key]); err == nil {
			err = checkKey(e.key)
		}
	}
	if err == nil && r.expires >= 0 {
		e.expires, err = parseExpiry(string(row[r.expires]))
	}
	switch {
	case err != nil:
	case r.value >= 0:
		e.value, err = decoded(row[r.value], r.encoded.value, r.columns[r.value])
	default:
		r.object = appendObject(r.object[:0], r.columns, row)
		e.value = r.object
	}
	return e, err
}

// appendObject appends a JSON object of strings, which must be valid UTF-8.
func appendObject(dst []byte, names []string, texts [][]byte) []byte {
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.Append(dst, name), ':')
		dst = jsontext.Append(dst, texts[i])
	}
	return append(dst, '}')
}
