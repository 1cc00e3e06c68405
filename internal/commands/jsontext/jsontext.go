// Package jsontext writes JSON strings for the commands that export and import.
//
// Unlike encoding/json, it escapes only the characters that JSON requires to be escaped.
package jsontext

import "fmt"

// Append appends a text, which must be valid UTF-8, to dst as a JSON string.
func Append[T string | []byte](dst []byte, text T) []byte {
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
