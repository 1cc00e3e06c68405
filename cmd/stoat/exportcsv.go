package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// exportColumnsMax bounds the columns found in values: more do not make a table.
const exportColumnsMax = 1000

// tableWriter writes entries as comma-separated values: with a column for each field of JSON
// objects, or one for the whole value. It is not safe for concurrent use.
type tableWriter struct {
	key, value, expires string // the names of columns; an empty value: to be found out
	delimiter           []byte
	valuesOnly          bool
	fixed               bool // the columns are given

	columns []string       // of the fields of values; none: the value is one column
	index   map[string]int // of columns

	// What the entries were found to be like.
	plain      bool // a value is not a JSON object
	rawKey     bool // a key is not valid UTF-8
	rawValue   bool // a value is not valid UTF-8
	expiring   bool // an entry expires
	keyDiffers bool // the field with the name of the key is missing or differs

	object jsonObject // the last value
	cells  [][]byte
	line   []byte
}

// add adds a column for a field of the values.
func (t *tableWriter) add(name []byte) {
	if _, there := t.index[string(name)]; !there {
		t.index[string(name)] = len(t.columns)
		t.columns = append(t.columns, string(name))
	}
}

func (t *tableWriter) look(e *entry) (more bool, err error) {
	t.rawKey = t.rawKey || !utf8.Valid(e.key)
	t.rawValue = t.rawValue || !utf8.Valid(e.value)
	t.expiring = t.expiring || !e.expires.IsZero()
	if t.plain || t.value != "" {
		return true, nil
	}
	err = t.parse(e.value)
	if err == nil && !t.fixed {
		for _, f := range t.object.fields {
			t.add(f.name)
		}
	}
	switch {
	case err != nil && t.fixed:
		return false, fmt.Errorf("the value of %s has no fields: %w", quote(e.key), err)
	case err != nil:
		t.plain = true
	case len(t.columns) > exportColumnsMax:
		return false, fmt.Errorf("the values have more than %s different fields: name those that are "+
			"wanted with -columns, or export the values as they are with -value value",
			progress.Count(exportColumnsMax))
	case !t.keyDiffers:
		raw, found := t.object.get(t.key)
		t.keyDiffers = !found || !bytes.Equal(cell(raw), e.key)
	}
	return true, nil
}

func (t *tableWriter) begin(w *bufio.Writer) error {
	if t.plain || len(t.columns) == 0 {
		t.columns = nil
		clear(t.index)
		t.value = cmp.Or(t.value, "value")
	}
	_, named := t.index[t.key]
	if named && t.keyDiffers && !t.valuesOnly {
		return fmt.Errorf("values have a field %q that is not their key: give the column of the key "+
			"another name with -key, or leave the keys out with -values", t.key)
	}
	t.valuesOnly = t.valuesOnly || named
	if slices.Contains(t.columns, t.expires) && t.expiring {
		return fmt.Errorf("values have a field %q: give the column of the time of expiry another name "+
			"with -expires", t.expires)
	}
	var names []string
	if !t.valuesOnly {
		names = append(names, columnName(t.key, t.rawKey))
	}
	if len(t.columns) == 0 {
		names = append(names, columnName(t.value, t.rawValue))
	}
	names = append(names, t.columns...)
	if t.expiring {
		names = append(names, t.expires)
	}
	t.cells = t.cells[:0]
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return fmt.Errorf("two columns would be named %q: give one of them another name with -key, "+
				"-value or -expires, or leave the keys out with -values", name)
		}
		t.cells = append(t.cells, []byte(name))
	}
	return t.row(w)
}

// columnName returns the name of a column that may hold base64.
func columnName(name string, encoded bool) string {
	if encoded {
		return name + base64Suffix
	}
	return name
}

func (t *tableWriter) write(w *bufio.Writer, e *entry) error {
	t.cells = t.cells[:0]
	if !t.valuesOnly {
		t.cells = append(t.cells, encodedCell(e.key, t.rawKey))
	}
	if len(t.columns) == 0 {
		t.cells = append(t.cells, encodedCell(e.value, t.rawValue))
	} else {
		first := len(t.cells)
		for range t.columns {
			t.cells = append(t.cells, nil)
		}
		if err := t.parse(e.value); err != nil {
			return fmt.Errorf("the value of %s: %w", quote(e.key), err)
		}
		for _, f := range t.object.fields {
			if i, there := t.index[string(f.name)]; there {
				t.cells[first+i] = cell(f.raw)
			}
		}
	}
	if t.expiring {
		var at []byte
		if !e.expires.IsZero() {
			at = appendTime(nil, e.expires)
		}
		t.cells = append(t.cells, at)
	}
	return t.row(w)
}

// encodedCell returns bytes as they stand in a cell.
func encodedCell(b []byte, encoded bool) []byte {
	if encoded {
		return base64.StdEncoding.AppendEncode(nil, b)
	}
	return b
}

// cell returns the text of a field of a JSON object: the text of a string, nothing for null, and
// JSON for anything else.
func cell(raw []byte) []byte {
	switch raw[0] {
	case 'n':
		return nil
	case '"':
		return unquoted(raw)
	}
	return raw
}

// row writes the cells as a row.
func (t *tableWriter) row(w *bufio.Writer) error {
	t.line = t.line[:0]
	for i, c := range t.cells {
		if i > 0 {
			t.line = append(t.line, t.delimiter...)
		}
		if len(t.cells) == 1 && len(c) == 0 || bytes.ContainsAny(c, "\"\r\n") ||
			bytes.Contains(c, t.delimiter) || bytes.HasPrefix(c, []byte(byteOrderMark)) ||
			strings.TrimSpace(string(c)) != string(c) {
			t.line = append(t.line, '"')
			t.line = append(t.line, bytes.ReplaceAll(c, []byte(`"`), []byte(`""`))...)
			t.line = append(t.line, '"')
			continue
		}
		t.line = append(t.line, c...)
	}
	_, err := w.Write(append(t.line, '\n'))
	return err
}

// errNoObject reports a value that is not a JSON object.
var errNoObject = errors.New("not a JSON object")

// parse takes a value apart.
func (t *tableWriter) parse(value []byte) error {
	if !isJSON(value) || !t.object.parse(value) {
		return errNoObject
	}
	return nil
}
