package main

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/stoatdb/stoat"
)

// bucket is what a transaction, as the root bucket, and any other bucket have in common.
type bucket interface {
	Get(key []byte) ([]byte, error)
	Has(key []byte) (bool, error)
	Put(key, value []byte) error
	Delete(key []byte) error
	Scan(r stoat.Range) iter.Seq2[[]byte, []byte]
	Keys(r stoat.Range) iter.Seq[[]byte]
	Bucket(name []byte) (*stoat.Bucket, error)
	CreateBucketIfNotExists(name []byte) (*stoat.Bucket, error)
	Buckets() iter.Seq[[]byte]
	Sequence() (uint64, error)
	SetSequence(n uint64) error
	Stats() (stoat.BucketStats, error)
}

// path is the names of a bucket and of those that hold it, outermost first; that of the root is
// empty. As a flag, and printed, the names are joined by slashes; \/ is a slash in a name, \\ a
// backslash, and \x00 to \xff are any bytes.
type path []string

// errPath reports a path that cannot be read.
var errPath = errors.New(`want names joined by slashes, like a/b, with \/ for a slash in a name, ` +
	`\\ for a backslash and \xff for any byte`)

// bucketFlag adds the flag that chooses a bucket.
func bucketFlag(flags *flag.FlagSet) *path {
	p := new(path)
	flags.Var(p, "bucket", "the bucket `PATH`, like a/b; without it, the root bucket")
	return p
}

// Set parses text, as package flag wants it.
func (p *path) Set(text string) error {
	if *p = nil; text == "" {
		return nil
	}
	var names path
	var name []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '/':
			names = append(names, string(name))
			name = nil
		case '\\':
			b, size, ok := unescape(text[i+1:])
			if !ok {
				return errPath
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
			return errPath
		}
	}
	*p = names
	return nil
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

// String returns the path as Set reads it.
func (p *path) String() string {
	names := make([]string, len(*p))
	for i, name := range *p {
		names[i] = escape(name)
	}
	return strings.Join(names, "/")
}

// escape returns a name as it stands in a path.
func escape(name string) string {
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

// find returns the bucket at p.
func (p *path) find(tx *stoat.Tx) (bucket, error) {
	var b bucket = tx
	for i, name := range *p {
		next, err := b.Bucket([]byte(name))
		if errors.Is(err, stoat.ErrBucketNotFound) {
			missing := (*p)[:i+1]
			return nil, fmt.Errorf("there is no bucket %s: \"stoat buckets -tree\" lists them",
				missing.String())
		}
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}

// create returns the bucket at p, which it creates if need be.
func (p *path) create(tx *stoat.Tx) (bucket, error) {
	var b bucket = tx
	for _, name := range *p {
		next, err := b.CreateBucketIfNotExists([]byte(name))
		if err != nil {
			return nil, err
		}
		b = next
	}
	return b, nil
}
