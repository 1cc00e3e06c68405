package main

import (
	"bytes"
	"encoding/json"
)

// jsonObject is a JSON object split into its fields, unchanged and in their order, including
// repeated ones. It is not safe for concurrent use.
type jsonObject struct {
	fields []jsonField
}

// jsonField is a field of an object, in memory of that.
type jsonField struct {
	name []byte
	raw  []byte // its value, without the spaces around it
}

// parse takes text apart, which must be valid JSON. It reports whether that is an object.
func (o *jsonObject) parse(text []byte) bool {
	o.fields = o.fields[:0]
	text = bytes.Trim(text, jsonSpaces)
	if len(text) == 0 || text[0] != '{' {
		return false
	}
	for at := skipSpaces(text, 1); text[at] != '}'; {
		end := valueEnd(text, at)
		f := jsonField{name: text[at+1 : end-1]}
		if bytes.IndexByte(f.name, '\\') >= 0 {
			f.name = unquoted(text[at:end])
		}
		at = skipSpaces(text, skipSpaces(text, end)+1) // behind the colon
		end = valueEnd(text, at)
		f.raw = text[at:end]
		o.fields = append(o.fields, f)
		if at = skipSpaces(text, end); text[at] == ',' {
			at = skipSpaces(text, at+1)
		}
	}
	return true
}

// get returns a field; if it repeats, the last one wins.
func (o *jsonObject) get(name string) (raw []byte, found bool) {
	for i := len(o.fields) - 1; i >= 0; i-- {
		if string(o.fields[i].name) == name {
			return o.fields[i].raw, true
		}
	}
	return nil, false
}

// jsonSpaces are the spaces that may stand between the parts of JSON.
const jsonSpaces = " \t\r\n"

// skipSpaces returns where the spaces at an offset end.
func skipSpaces(text []byte, at int) int {
	for text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n' {
		at++
	}
	return at
}

// valueEnd returns where the value at an offset ends.
func valueEnd(text []byte, at int) int {
	switch text[at] {
	case '"':
		return stringEnd(text, at)
	case '{', '[':
		for depth := 0; ; {
			switch text[at] {
			case '"':
				at = stringEnd(text, at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if at++; depth == 0 {
				return at
			}
		}
	}
	if n := bytes.IndexAny(text[at:], ",]}"+jsonSpaces); n >= 0 {
		return at + n
	}
	return len(text)
}

// stringEnd returns where the string at an offset ends.
func stringEnd(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// unquoted returns the text of a JSON string, or the input itself if it is not one.
func unquoted(quoted []byte) []byte {
	if inner := quoted[1 : len(quoted)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var text string
	if json.Unmarshal(quoted, &text) != nil {
		return quoted
	}
	return []byte(text)
}
