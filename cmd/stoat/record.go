package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/stoatdb/stoat"
)

// Versions of the dump format. This program writes the newest and reads all.
const (
	dumpWithoutExpiry = 1 // it lacks the time when entries expire
	dumpVersion       = 2
)

// record is one line of a dump: the header, a bucket, an entry, or the end. Entries and buckets are
// also what other commands print as JSON.
type record struct {
	Stoat    *int     `json:"stoat,omitempty"` // the header: the version of the format
	Bucket   []string `json:"bucket,omitempty"`
	Bucket64 [][]byte `json:"bucket64,omitempty"` // instead, if a name is not valid UTF-8
	Sequence *uint64  `json:"sequence,omitempty"` // of a bucket
	Key      *string  `json:"key,omitempty"`      // of an entry
	Key64    []byte   `json:"key64,omitempty"`    // instead, if it is not valid UTF-8
	Value    *string  `json:"value,omitempty"`
	Value64  []byte   `json:"value64,omitempty"` // instead, if it is not valid UTF-8

	Expires *time.Time `json:"expires,omitempty"` // of an entry that does
	End     bool       `json:"end,omitempty"`     // the last line
}

// fieldNames are the names of the fields of a record. It is immutable.
var fieldNames = [...]string{
	"stoat", "bucket", "bucket64", "sequence", "key", "key64", "value", "value64",
	"expires", "end",
}

// kind is the kind of a record.
type kind uint8

const (
	headerKind kind = iota + 1
	bucketKind
	entryKind
	endKind
)

// headerRecord returns the first record of a dump.
func headerRecord() *record {
	version := dumpVersion
	return &record{Stoat: &version}
}

// entryRecord returns the record of an entry, or of its key alone if the value is nil.
func entryRecord(in path, e *entry) *record {
	r := new(record)
	r.setBucket(in)
	if r.Key = utf8Text(e.key); r.Key == nil {
		r.Key64 = e.key
	}
	if !e.expires.IsZero() {
		at := e.expires.UTC()
		r.Expires = &at
	}
	if e.value == nil {
		return r
	}
	if r.Value = utf8Text(e.value); r.Value == nil {
		r.Value64 = e.value
	}
	return r
}

// writeBucket writes the record of a bucket.
func writeBucket(w io.Writer, at path, b stoat.KeySpace) error {
	sequence, err := b.Sequence()
	if err != nil {
		return err
	}
	r := &record{Sequence: &sequence}
	r.setBucket(at)
	return r.write(w)
}

func (r *record) setBucket(at path) {
	for _, name := range at {
		if !utf8.ValidString(name) {
			for _, name := range at {
				r.Bucket64 = append(r.Bucket64, []byte(name))
			}
			return
		}
	}
	r.Bucket = at
}

// utf8Text returns b as text, or nil if it is not valid UTF-8.
func utf8Text(b []byte) *string {
	if !utf8.Valid(b) {
		return nil
	}
	text := string(b)
	return &text
}

// write writes the record as one line.
func (r *record) write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// parseRecord returns the record on a line.
func parseRecord(line []byte) (*record, error) {
	if !utf8.Valid(line) {
		return nil, errors.New("not valid UTF-8: a dump has such bytes as base64")
	}
	r := new(record)
	if err := json.Unmarshal(line, r); err != nil {
		return nil, fmt.Errorf("not what dump writes: %w", err)
	}
	if r.Expires != nil {
		if year := r.Expires.UTC().Year(); year < 0 || year > 9999 {
			return nil, fmt.Errorf("a time of expiry in the year %d", year)
		}
	}
	return r, checkStrict(line)
}

// checkStrict returns an error for anything that package json accepts and dump never writes: names
// that are unknown, in the wrong case or repeated, null and false, and halves of characters. The
// line must be valid JSON.
func checkStrict(line []byte) error {
	var seen [len(fieldNames)]bool
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case 'n', 'f':
			return errors.New("null or false as a value: omit the field")
		case '"':
			text, err := literal(line[i+1:])
			if err != nil {
				return err
			}
			i += len(text) + 1 // the closing quote
			if !bytes.HasPrefix(bytes.TrimLeft(line[i+1:], " \t\r\n"), []byte(":")) {
				continue // no name
			}
			n := slices.IndexFunc(fieldNames[:], func(name string) bool { return name == string(text) })
			if n < 0 {
				return fmt.Errorf("%s is not a field of a dump: \"stoat help dump\" lists them, "+
					"all in lower case", quote(text))
			}
			if seen[n] {
				return fmt.Errorf("%q is repeated: remove one", text)
			}
			seen[n] = true
		}
	}
	return nil
}

// literal returns a JSON string up to its closing quote, with its escapes.
func literal(s []byte) ([]byte, error) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return s[:i], nil
		case s[i] == '\\' && s[i+1] == 'u':
			size, err := runeEscape(s[i:])
			if err != nil {
				return nil, err
			}
			i += size - 1
		case s[i] == '\\':
			i++
		}
	}
	return nil, io.ErrUnexpectedEOF
}

// runeEscape returns the size of the escape that s begins with: of one like \u00e4, or of two that
// are one character. Package json takes half of such a pair for U+FFFD.
func runeEscape(s []byte) (size int, err error) {
	const one, pair = len(`\u0000`), 2 * len(`\u0000`)
	unit := func(at int) rune {
		n, _ := strconv.ParseUint(string(s[at+2:at+one]), 16, 16) // valid JSON has four digits
		return rune(n)
	}
	if !utf16.IsSurrogate(unit(0)) {
		return one, nil
	}
	if bytes.HasPrefix(s[one:], []byte(`\u`)) &&
		utf16.DecodeRune(unit(0), unit(one)) != utf8.RuneError {
		return pair, nil
	}
	return 0, fmt.Errorf("%s is half a character: write what is not UTF-8 as base64, like \"key64\"",
		s[:one])
}

// kind returns the kind of the record, or an error that says why it is invalid.
func (r *record) kind() (kind, error) {
	header, bucket, end := r.Stoat != nil, r.Sequence != nil, r.End
	hasKey, hasValue := r.Key != nil || r.Key64 != nil, r.Value != nil || r.Value64 != nil
	if r.Expires != nil && !(hasKey && hasValue) {
		return 0, errors.New("a time of expiry without a key and a value")
	}
	hasPath := r.Bucket != nil || r.Bucket64 != nil
	switch {
	case r.Bucket != nil && r.Bucket64 != nil, r.Key != nil && r.Key64 != nil,
		r.Value != nil && r.Value64 != nil:
		return 0, errors.New("a field is given both as text and as base64")
	case hasKey && hasValue && !header && !bucket && !end:
		return entryKind, nil
	case bucket && !hasKey && !hasValue && !header && !end:
		return bucketKind, nil
	case header && !hasKey && !hasValue && !hasPath && !bucket && !end:
		return headerKind, nil
	case end && !hasKey && !hasValue && !hasPath && !bucket && !header:
		return endKind, nil
	}
	return 0, errors.New("neither a bucket with a sequence nor a key with a value")
}

// checkHeader returns an error unless the record is the header of a dump that this program reads.
func (r *record) checkHeader() error {
	if k, err := r.kind(); err != nil || k != headerKind || *r.Stoat < dumpWithoutExpiry {
		return fmt.Errorf("not a dump, which starts with {\"stoat\":%d}: load what \"stoat dump\" has "+
			"written", dumpVersion)
	}
	if *r.Stoat > dumpVersion {
		return fmt.Errorf("a dump of version %d, made by a newer stoat: load it with that one", *r.Stoat)
	}
	return nil
}

// path returns the path of the bucket that the record describes or is in.
func (r *record) path() path {
	if r.Bucket64 == nil {
		return r.Bucket
	}
	p := make(path, len(r.Bucket64))
	for i, name := range r.Bucket64 {
		p[i] = string(name)
	}
	return p
}

// entry returns the entry that the record describes.
func (r *record) entry() entry {
	e := entry{key: r.Key64, value: r.Value64}
	if r.Key != nil {
		e.key = []byte(*r.Key)
	}
	if r.Value != nil {
		e.value = []byte(*r.Value)
	}
	if r.Expires != nil {
		e.expires = *r.Expires
	}
	return e
}
