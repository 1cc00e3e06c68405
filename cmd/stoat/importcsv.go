package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/intake"
)

// csvReader reads the rows under a header as JSON objects. It is not safe for concurrent use.
type csvReader struct {
	*importFile
	key     int // the column; -1: none
	columns []string

	start intake.Position // of the first row
	from  intake.Position // where rows begins
	text  *rowText
	rows  *csv.Reader
	line  int64  // of the last row
	value []byte // of the last row
}

// openCSV opens a file and reads its header. An empty key stands for none.
func openCSV(name, key string) (entryReader, error) {
	f, err := openImport("csv", name)
	if err != nil {
		return nil, err
	}
	r := &csvReader{importFile: f, key: -1}
	if err := r.header(key); err != nil {
		f.close() // nothing was written
		return nil, fmt.Errorf("%s, the header: %w", name, err)
	}
	return r, nil
}

// header reads the first row.
func (r *csvReader) header(key string) error {
	if err := r.open(intake.Position{}); err != nil {
		return err
	}
	columns, err := r.rows.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty: the first row has the names of the columns")
	}
	if err != nil {
		return err
	}
	for i, name := range columns {
		switch {
		case !utf8.ValidString(name):
			return fmt.Errorf("column %d: the name is not valid UTF-8", i+1)
		case name == "":
			return fmt.Errorf("column %d has no name", i+1)
		case slices.Contains(columns[:i], name):
			return fmt.Errorf("two columns are named %q", name)
		}
	}
	r.columns = slices.Clone(columns)
	if key != "" {
		if r.key = slices.Index(r.columns, key); r.key < 0 {
			return fmt.Errorf("there is no column %q to be the key", key)
		}
	}
	r.text.discard(r.rows.InputOffset())
	r.start = r.position()
	return nil
}

func (r *csvReader) seek(at intake.Position) error {
	if at.Offset == 0 {
		at = r.start
	}
	return r.open(at)
}

// open reads on at a place.
func (r *csvReader) open(at intake.Position) error {
	text, offset, err := r.importFile.from(at.Offset)
	if err != nil {
		return err
	}
	r.from = intake.Position{Offset: offset, Record: at.Record}
	r.text = &rowText{r: text}
	r.rows = csv.NewReader(r.text)
	r.rows.ReuseRecord = true
	r.rows.FieldsPerRecord = -1
	return nil
}

func (r *csvReader) position() intake.Position {
	return intake.Position{
		Offset: r.from.Offset + r.text.start, Record: r.from.Record + r.text.lines,
	}
}

func (r *csvReader) where() string { return fmt.Sprintf("%s line %d", r.path, r.line) }

func (r *csvReader) next() (sourceEntry, error) {
	row, err := r.rows.Read()
	var syntax *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return sourceEntry{}, errImported
	case errors.As(err, &syntax):
		r.line = r.from.Record + int64(syntax.StartLine)
		err = &badEntry{syntax.Err}
	case err != nil:
		r.line = r.from.Record + r.text.lines + 1
	default:
		line, _ := r.rows.FieldPos(0)
		r.line = r.from.Record + int64(line)
	}
	r.text.discard(r.rows.InputOffset())
	if err != nil {
		return sourceEntry{}, err
	}
	return r.entry(row)
}

// entry returns the entry that a row is.
func (r *csvReader) entry(row []string) (e sourceEntry, err error) {
	if len(row) != len(r.columns) {
		return e, badf("%s, and the header has %d", counted(int64(len(row)), "field"),
			len(r.columns))
	}
	for i, field := range row {
		if !utf8.ValidString(field) {
			return e, badf("column %q is not valid UTF-8", r.columns[i])
		}
	}
	if r.key >= 0 {
		e.key = []byte(row[r.key])
		if err := checkKey(e.key); err != nil {
			return e, err
		}
	}
	r.value = appendObject(r.value[:0], r.columns, row)
	e.value = r.value
	return e, nil
}

// appendObject appends a JSON object of texts, which must be valid UTF-8.
func appendObject(dst []byte, names, texts []string) []byte {
	dst = append(dst, '{')
	for i, name := range names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendText(dst, name), ':')
		dst = appendText(dst, texts[i])
	}
	return append(dst, '}')
}

// appendText appends a JSON string.
func appendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c < ' ':
			dst = fmt.Appendf(dst, `\u%04x`, c)
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// rowText passes text on to a reader of rows, and keeps what that has not said to be behind it: so
// it knows on which line a row ends, and ends a row whose quote is never closed.
type rowText struct {
	r     io.Reader
	kept  []byte
	start int64 // of kept, in the text
	lines int64 // before start
}

// errLongRow reports a row that is longer than entryBytesMax.
var errLongRow = errors.New("a row longer than any should be: is there a quote that is not closed?")

// Read implements io.Reader.
func (t *rowText) Read(p []byte) (int, error) {
	if len(t.kept) > entryBytesMax {
		return 0, errLongRow
	}
	n, err := t.r.Read(p)
	t.kept = append(t.kept, p[:n]...)
	return n, err
}

// discard lets go of the text before offset.
func (t *rowText) discard(offset int64) {
	n := int(offset - t.start)
	for _, c := range t.kept[:n] {
		if c == '\n' {
			t.lines++
		}
	}
	t.kept = t.kept[:copy(t.kept, t.kept[n:])]
	t.start = offset
}
