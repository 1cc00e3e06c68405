package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// dumpVersion is the version of the dump format that this program writes and reads.
const dumpVersion = 1

// record is one line of a dump: the header, a bucket, an entry, or the end. Entries and buckets are
// also what other commands print as JSON.
type record struct {
	Stoat    int      `json:"stoat,omitempty"` // the header: the version of the format
	Bucket   []string `json:"bucket,omitempty"`
	Bucket64 [][]byte `json:"bucket64,omitempty"` // instead, if a name is not valid UTF-8
	Sequence *uint64  `json:"sequence,omitempty"` // of a bucket
	Key      *string  `json:"key,omitempty"`      // of an entry
	Key64    []byte   `json:"key64,omitempty"`    // instead, if it is not valid UTF-8
	Value    *string  `json:"value,omitempty"`
	Value64  []byte   `json:"value64,omitempty"` // instead, if it is not valid UTF-8
	End      bool     `json:"end,omitempty"`     // the last line
}

// kind says what a record is.
type kind uint8

const (
	headerKind kind = iota + 1
	bucketKind
	entryKind
	endKind
)

// entryRecord returns the record of a key and its value, or of the key alone if value is nil.
func entryRecord(in path, key, value []byte) *record {
	r := new(record)
	r.setBucket(in)
	if r.Key = utf8Text(key); r.Key == nil {
		r.Key64 = key
	}
	if value == nil {
		return r
	}
	if r.Value = utf8Text(value); r.Value == nil {
		r.Value64 = value
	}
	return r
}

// writeBucket writes the record of a bucket.
func writeBucket(w io.Writer, at path, b bucket) error {
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
		return nil, errors.New("not valid UTF-8")
	}
	r := new(record)
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON object on the line")
	}
	return r, nil
}

// kind returns what the record is; the error says what about it makes no sense.
func (r *record) kind() (kind, error) {
	header, bucket, end := r.Stoat != 0, r.Sequence != nil, r.End
	hasKey, hasValue := r.Key != nil || r.Key64 != nil, r.Value != nil || r.Value64 != nil
	hasPath := r.Bucket != nil || r.Bucket64 != nil
	switch {
	case r.Bucket != nil && r.Bucket64 != nil, r.Key != nil && r.Key64 != nil,
		r.Value != nil && r.Value64 != nil:
		return 0, errors.New("a field stands there both as text and as base64")
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
	if k, err := r.kind(); err != nil || k != headerKind {
		return errors.New("not a dump of Stoat, which starts with {\"stoat\":1}")
	}
	if r.Stoat > dumpVersion {
		return fmt.Errorf("version %d of the format; load it with a newer version of stoat", r.Stoat)
	}
	return nil
}

// path returns the path of the bucket that the record is or is in.
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

// entry returns the key and the value of the record of an entry.
func (r *record) entry() (key, value []byte) {
	key, value = r.Key64, r.Value64
	if r.Key != nil {
		key = []byte(*r.Key)
	}
	if r.Value != nil {
		value = []byte(*r.Value)
	}
	return key, value
}
