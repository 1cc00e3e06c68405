package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/cmdline"
)

// What can be wrong with a row.
var (
	errBareQuote  = errors.New(`a bare " in an unquoted field: quote the field, and double the "`)
	errAfterQuote = errors.New(`text after the closing quote of a field: double a " within it`)
	errOpenQuote  = errors.New(`a quote (") that is never closed`)
	errLongRow    = errors.New("a row that is too long: is a quote not closed?")
)

// rowReader splits text into rows of fields, separated by a delimiter. A row is one line, or
// several with quotes: as in RFC 4180, a quoted field may hold any characters, with quotes doubled.
// Empty lines are skipped. It is not safe for concurrent use.
type rowReader struct {
	r         *bufio.Reader
	delimiter []byte
	quotes    bool // fields may be quoted

	offset int64 // behind the last row
	lines  int64 // up to there
	line   int64 // the first of the last row

	raw    []byte // the last row, unchanged
	text   []byte // its fields, joined
	ends   []int  // where each of them ends in text
	fields [][]byte
}

// next returns the fields of the next row, which are valid until the next call, or io.EOF. After an
// error about one row, which is a badEntry, it continues with the following line.
func (r *rowReader) next() ([][]byte, error) {
	r.text, r.ends = r.text[:0], r.ends[:0]
	for r.raw = r.raw[:0]; lineEnd(r.raw) == 0; {
		r.raw = r.raw[:0]
		r.line = r.lines + 1
		if err := r.more(); err != nil {
			return nil, err
		}
	}
	for at := 0; at >= 0; {
		var err error
		if at, err = r.field(at); err != nil {
			return nil, err
		}
	}
	r.fields = r.fields[:0]
	start := 0
	for _, end := range r.ends {
		r.fields = append(r.fields, r.text[start:end:end])
		start = end
	}
	return r.fields, nil
}

// more appends the next line to the row.
func (r *rowReader) more() error {
	before := len(r.raw)
	for {
		part, err := r.r.ReadSlice('\n')
		r.raw = append(r.raw, part...)
		switch {
		case len(r.raw) > entryBytesMax:
			return errLongRow
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(r.raw) == before):
			return err
		}
		r.offset += int64(len(r.raw) - before)
		r.lines++
		return nil
	}
}

// field splits off the field at an offset, and returns the offset of the next one, or a negative
// number at the end.
func (r *rowReader) field(at int) (next int, err error) {
	end := lineEnd(r.raw)
	if r.quotes && at < end && r.raw[at] == '"' {
		return r.quoted(at + 1)
	}
	next = -1
	if n := bytes.Index(r.raw[at:end], r.delimiter); n >= 0 {
		end, next = at+n, at+n+len(r.delimiter)
	}
	if r.quotes && bytes.IndexByte(r.raw[at:end], '"') >= 0 {
		return 0, &badEntry{errBareQuote}
	}
	r.text = append(r.text, r.raw[at:end]...)
	r.ends = append(r.ends, len(r.text))
	return next, nil
}

// quoted is field for a quoted field; the offset is after its opening quote.
func (r *rowReader) quoted(at int) (next int, err error) {
	for {
		n := bytes.IndexByte(r.raw[at:], '"')
		if n < 0 {
			r.text = append(r.text, r.raw[at:]...)
			at = len(r.raw)
			if err := r.more(); errors.Is(err, io.EOF) {
				return 0, &badEntry{errOpenQuote}
			} else if err != nil {
				return 0, err
			}
			continue
		}
		r.text = append(r.text, r.raw[at:at+n]...)
		at += n + 1
		switch rest := r.raw[at:]; {
		case len(rest) > 0 && rest[0] == '"':
			r.text = append(r.text, '"')
			at++
			continue
		case lineEnd(rest) == 0:
			next = -1
		case bytes.HasPrefix(rest, r.delimiter):
			next = at + len(r.delimiter)
		default:
			return 0, &badEntry{errAfterQuote}
		}
		r.ends = append(r.ends, len(r.text))
		return next, nil
	}
}

// lineEnd returns the length of a line without its line ending.
func lineEnd(line []byte) int {
	return len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")))
}

// parseDelimiter returns the delimiter given by an argument.
func parseDelimiter(arg string) ([]byte, error) {
	switch arg {
	case "":
		return []byte(","), nil
	case "tab", `\t`:
		return []byte("\t"), nil
	}
	if r, size := utf8.DecodeRuneInString(arg); size != len(arg) || r == utf8.RuneError ||
		r == '"' || r == '\n' || r == '\r' {
		return nil, cmdline.Usagef("-delimiter %q: want one character, like ; or tab, that is "+
			"neither a quote nor the end of a line", arg)
	}
	return []byte(arg), nil
}
