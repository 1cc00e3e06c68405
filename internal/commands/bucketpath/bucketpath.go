// Package bucketpath writes the path of a bucket, which is its name and those of the buckets that
// hold it, as text for arguments and messages, and reads it.
//
// The names are joined by slashes, outermost first; \/ is a slash in a name, \\ a backslash, and
// \x00 to \xff are any bytes. The path of the root bucket has no names, and its text is empty. The
// package knows no database.
package bucketpath

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrSyntax reports a text that is no path.
var ErrSyntax = errors.New(`want names joined by slashes, like a/b, with \/ for a slash in a ` +
	`name, \\ for a backslash and \xff for any byte`)

// Parse returns the names of the path that text stands for, or ErrSyntax.
func Parse(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	var name []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '/':
			names = append(names, string(name))
			name = nil
		case '\\':
			b, size, ok := unescape(text[i+1:])
			if !ok {
				return nil, ErrSyntax
			}
			name = append(name, b)
			i += size
		default:
			name = append(name, c)
		}
	}
	names = append(names, string(name))
	for _, name := range names {
		if name == "" {
			return nil, ErrSyntax
		}
	}
	return names, nil
}

// unescape returns the byte that follows a backslash, and the size of its notation.
func unescape(text string) (b byte, size int, ok bool) {
	if strings.HasPrefix(text, "/") || strings.HasPrefix(text, `\`) {
		return text[0], 1, true
	}
	if len(text) < 3 || text[0] != 'x' {
		return 0, 0, false
	}
	n, err := strconv.ParseUint(text[1:3], 16, 8)
	return byte(n), 3, err == nil
}

// Format returns the path as Parse reads it.
func Format(names []string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = Escape(name)
	}
	return strings.Join(escaped, "/")
}

// Escape returns a name as it stands in a path.
func Escape(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == '/' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError && size == 1 || !unicode.IsPrint(r):
			for _, c := range []byte(name[:size]) {
				fmt.Fprintf(&b, `\x%02x`, c)
			}
		default:
			b.WriteRune(r)
		}
		name = name[size:]
	}
	return b.String()
}
