package advise

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/strategies"
)

// input is a file with the user's own data. It is only read.
type input struct {
	path string
	bolt bool // a bbolt database; otherwise a JSON object per line
}

// entry is one pair of an input. Its slices are valid until the next one.
type entry struct {
	key, value []byte
	line       int // line number, counted from 1; 0 in a database
	bucket     int // bucket number, counted from 0; 0 in a file of lines
}

// extent is how much of an input to measure.
type extent struct {
	Pairs      int
	KeyBytes   int64
	ValueBytes int64
	Buckets    int  // of a database, that have pairs
	More       bool // the limits have left something out
}

// limits say how much of an input is measured, from its beginning.
type limits struct {
	pairs int
	bytes int64 // of keys and values, but at least one pair; 0 is no limit
}

// The default limits.
const (
	mostPairs = 100_000
	mostBytes = 256 << 20
)

// mostLine is the maximum length of a line.
const mostLine = 64 << 20

// bucketBytes is the length of the prefix that tells the keys of several buckets apart.
const bucketBytes = 4

// check returns an error unless the input is a nonempty regular file.
func (in input) check() error {
	info, err := os.Stat(in.path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory; give a file", in.path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is not a regular file and is read repeatedly; give a copy", in.path)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty", in.path)
	}
	return nil
}

// each calls take with every pair, in the order of the file, until take returns false.
func (in input) each(take func(e entry) bool) error {
	if in.bolt {
		return in.eachPair(take)
	}
	return in.eachLine(take)
}

// eachLine calls take with each record of a file of lines. Keys are the records' numbers.
func (in input) eachLine(take func(e entry) bool) (err error) {
	f, err := os.Open(in.path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, mostLine)
	key := make([]byte, engine.KeyBytes)
	var number, line int
	for lines.Scan() {
		line++
		value := bytes.TrimSpace(lines.Bytes())
		if len(value) == 0 {
			continue
		}
		engine.BigEndian.Put(key, uint64(number))
		number++
		if !take(entry{key: key, value: value, line: line}) {
			return nil
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("%s: line %d is longer than %d MiB", in.path, line+1, mostLine>>20)
	}
	return lines.Err()
}

// count returns how much of the input is within the limits.
func (in input) count(l limits) (x extent, err error) {
	err = in.each(func(e entry) bool {
		bytes := x.KeyBytes + x.ValueBytes + int64(len(e.key)+len(e.value))
		if x.Pairs == l.pairs || l.bytes > 0 && x.Pairs > 0 && bytes > l.bytes {
			x.More = true
			return false
		}
		x.Pairs++
		x.KeyBytes += int64(len(e.key))
		x.ValueBytes += int64(len(e.value))
		x.Buckets = max(x.Buckets, e.bucket+1)
		return true
	})
	return x, err
}

// changed is the error for an input that has changed.
func (in input) changed() error {
	return fmt.Errorf("%s has changed since the start; measure a copy", in.path)
}

// records returns the pairs of the extent whose values are JSON objects, as a data set, and their
// number. In a file of lines, each value must be one.
func (in input) records(x extent) (data *strategies.Data, n int, err error) {
	var text bytes.Buffer
	var left, line = x.Pairs, 1
	err = in.each(func(e entry) bool {
		for ; line < e.line; line++ {
			text.WriteByte('\n') // keeps the line numbers in errors correct
		}
		switch {
		case !in.bolt:
			text.Write(e.value)
		case isObject(e.value):
			_ = json.Compact(&text, e.value) // never fails: the value is valid
			text.WriteByte('\n')
		}
		left--
		return left > 0
	})
	switch {
	case err != nil:
		return nil, 0, err
	case left > 0:
		return nil, 0, in.changed()
	}
	return strategies.Objects(&text)
}

// isObject reports whether a value is a JSON object with fields.
func isObject(value []byte) bool {
	value = bytes.TrimSpace(value)
	if len(value) == 0 || value[0] != '{' || !json.Valid(value) {
		return false
	}
	return len(bytes.TrimSpace(value[1:len(value)-1])) > 0
}

// pairs returns the first n pairs, outside the Go heap. If they are from several buckets, each key
// has its bucket's number as a prefix.
func (in input) pairs(n int) (pairs []engine.Pair, x extent, err error) {
	if x, err = in.count(limits{pairs: n}); err != nil {
		return nil, x, err
	}
	if x.Pairs != n || n == 0 {
		return nil, x, in.changed()
	}
	if x.Buckets > 1 {
		x.KeyBytes += bucketBytes * int64(n)
	}
	room, err := machine.Anonymous(int(x.KeyBytes + x.ValueBytes))
	if err != nil {
		return nil, x, fmt.Errorf("make room for the data: %w", err)
	}
	pairs = make([]engine.Pair, 0, n)
	add := func(parts ...[]byte) []byte {
		var size int
		for _, part := range parts {
			size += copy(room[size:], part)
		}
		added := room[:size:size]
		room = room[size:]
		return added
	}
	var bucket []byte
	var fits bool
	err = in.each(func(e entry) bool {
		if x.Buckets > 1 {
			bucket = binary.BigEndian.AppendUint32(bucket[:0], uint32(e.bucket))
		}
		if fits = len(bucket)+len(e.key)+len(e.value) <= len(room); fits {
			pairs = append(pairs, engine.Pair{Key: add(bucket, e.key), Value: add(e.value)})
		}
		return fits && len(pairs) < n
	})
	if err == nil && (!fits || len(pairs) < n || len(room) > 0) {
		err = in.changed()
	}
	return pairs, x, err
}
