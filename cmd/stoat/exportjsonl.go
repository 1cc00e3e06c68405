package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/commands/jsontext"
)

// jsonlWriter writes entries as lines of JSON. It is not safe for concurrent use.
type jsonlWriter struct {
	key, value, expires string // the names of the fields
	valuesOnly          bool
	line                []byte
}

func (j *jsonlWriter) look(*entry) (more bool, err error) { return false, nil }
func (j *jsonlWriter) begin(*bufio.Writer) error          { return nil }

func (j *jsonlWriter) write(w *bufio.Writer, e *entry) error {
	j.line = j.line[:0]
	if j.valuesOnly {
		if !isJSON(e.value) {
			return fmt.Errorf("the value of %s is not JSON: export without -values", quote(e.key))
		}
		var line bytes.Buffer
		if bytes.ContainsAny(e.value, "\r\n") {
			if err := json.Compact(&line, e.value); err != nil {
				return err
			}
			e.value = line.Bytes()
		}
		j.line = append(append(j.line, e.value...), '\n')
		_, err := w.Write(j.line)
		return err
	}
	j.line = append(j.line, '{')
	j.line = appendField(j.line, j.key, e.key)
	j.line = append(j.line, ',')
	if standsAsJSON(e.value) {
		j.line = append(append(jsontext.Append(j.line, j.value), ':'), e.value...)
	} else {
		j.line = appendField(j.line, j.value, e.value)
	}
	if !e.expires.IsZero() {
		j.line = append(append(jsontext.Append(append(j.line, ','), j.expires), ':'), '"')
		j.line = append(appendTime(j.line, e.expires), '"')
	}
	_, err := w.Write(append(j.line, "}\n"...))
	return err
}

// appendField appends a field of a JSON object, as text, or as base64 if it is not valid UTF-8.
func appendField(dst []byte, name string, b []byte) []byte {
	if utf8.Valid(b) {
		return jsontext.Append(append(jsontext.Append(dst, name), ':'), b)
	}
	dst = append(jsontext.Append(dst, name+base64Suffix), ':', '"')
	return append(base64.StdEncoding.AppendEncode(dst, b), '"')
}

// isJSON reports whether a value is JSON.
func isJSON(value []byte) bool { return utf8.Valid(value) && json.Valid(value) }

// standsAsJSON reports whether a value can stand in a line of JSON as it is, and be read from there
// again byte for byte: text is quoted once more, and so are what spaces or several lines are about,
// and JSON so deep that the line around it would be too deep.
func standsAsJSON(value []byte) bool {
	return len(value) > 0 && value[0] != '"' && !bytes.ContainsAny(value, "\r\n") &&
		len(bytes.Trim(value, " \t")) == len(value) && isJSON(value) && fitsInObject(value)
}

// fitsInObject reports whether an object with the JSON as a field is JSON, too: package json bounds
// how deep that may be.
func fitsInObject(value []byte) bool {
	const shallow = 1000 // brackets, and so levels, which are far fewer than json takes
	if bytes.Count(value, []byte("["))+bytes.Count(value, []byte("{")) < shallow {
		return true
	}
	return json.Valid(slices.Concat([]byte("["), value, []byte("]")))
}
