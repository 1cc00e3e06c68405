package studio

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat"
)

// depthMost is how deep the path of a bucket may go.
const depthMost = 64

// parameters are those of a request. The first that is wrong is remembered, so that an endpoint
// asks once after reading all.
type parameters struct {
	values url.Values
	err    error
}

func parametersOf(r *http.Request) *parameters { return &parameters{values: r.URL.Query()} }

// wrong remembers what is wrong with a parameter.
func (p *parameters) wrong(name, want string) {
	if p.err == nil {
		p.err = badf("the parameter %s must be %s", name, want)
	}
}

// text returns a parameter as it is.
func (p *parameters) text(name string) string { return p.values.Get(name) }

// bytes returns a parameter that is in base64url; nil if it is absent or empty.
func (p *parameters) bytes(name string) []byte {
	text := p.values.Get(name)
	if text == "" {
		return nil
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		p.wrong(name, "base64url without padding")
	}
	return b
}

// number returns a parameter between least and most, or a default if it is absent.
func (p *parameters) number(name string, otherwise, least, most int64) int64 {
	text := p.values.Get(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		p.wrong(name, "a number from "+strconv.FormatInt(least, 10)+" to "+
			strconv.FormatInt(most, 10))
	}
	return n
}

// limit returns how many things the request wants.
func (p *parameters) limit() int { return int(p.number("limit", 100, 1, 500)) }

// yes returns a parameter that is 1 or true, or else absent, 0 or false.
func (p *parameters) yes(name string) bool {
	switch p.values.Get(name) {
	case "", "0", "false":
		return false
	case "1", "true":
		return true
	}
	p.wrong(name, "true or false")
	return false
}

// path returns the path of a bucket.
func (p *parameters) path() [][]byte {
	path, ok := parsePath(p.text("path"))
	if !ok {
		p.wrong("path", "names in base64url without padding, joined by dots")
	}
	return path
}

// parsePath returns the names that a path consists of.
func parsePath(text string) (path [][]byte, ok bool) {
	if text == "" {
		return nil, true
	}
	for part := range strings.SplitSeq(text, ".") {
		name, err := base64.RawURLEncoding.DecodeString(part)
		if err != nil || len(name) == 0 || len(path) == depthMost {
			return nil, false
		}
		path = append(path, name)
	}
	return path, true
}

// formatPath returns a path as parsePath reads it.
func formatPath(path [][]byte) string {
	parts := make([]string, len(path))
	for i, name := range path {
		parts[i] = formatBytes(name)
	}
	return strings.Join(parts, ".")
}

// formatBytes returns bytes as a parameter.
func formatBytes(p []byte) string { return base64.RawURLEncoding.EncodeToString(p) }

// bucketAt returns the bucket at a path.
func bucketAt(tx *stoat.Tx, path [][]byte) (stoat.KeySpace, error) {
	var b stoat.KeySpace = tx
	for _, name := range path {
		next, err := b.Bucket(name)
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}
