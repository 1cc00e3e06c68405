package main

import (
	"fmt"
	"io"
	"time"

	"github.com/stoatdb/stoat/internal/pattern"
)

const (
	trainBytes = 1 << 20
	timedBytes = 1 << 20 // of records to time
	passes     = 25
)

// result is what was measured of one kind of records.
type result struct {
	count          int
	raw            int // all records; sizes are in bytes
	blocks         int // with zstd, in blocks
	alone          int // with zstd and a dictionary, individually
	pattern        int
	dictionary     int // of the pattern codec
	train          time.Duration
	encode, decode time.Duration // of one record with the pattern codec
	work           time.Duration // to decode one record, as estimated by the codec
	length         time.Duration // to find the length of a record's value
	decodeAlone    time.Duration // of one record with zstd and a dictionary
	decodeBlock    time.Duration // of one block with zstd
}

func (r *result) print(out io.Writer, name string) {
	each := func(bytes int) float64 { return float64(bytes) / float64(r.count) }
	fmt.Fprintf(out, "| %s | %d | %.0f | %.1f | %.1f | %.1f | %.2f | %d |", name, r.count,
		each(r.raw), each(r.blocks), each(r.alone), each(r.pattern),
		float64(r.pattern)/float64(r.blocks), r.dictionary)
	fmt.Fprintf(out, " %d | %d | %d | %d | %d | %d | %d |\n", r.train.Milliseconds(),
		r.encode.Nanoseconds(), r.decode.Nanoseconds(), r.work.Nanoseconds(),
		r.length.Nanoseconds(),
		r.decodeAlone.Nanoseconds(), r.decodeBlock.Nanoseconds())
}

// measure measures one kind of records.
func measure(all [][]byte) (*result, error) {
	train, values := divide(all)
	r := &result{count: len(values)}
	for _, v := range values {
		r.raw += len(v)
	}
	if err := r.measureBlocks(values); err != nil {
		return nil, err
	}
	if err := r.measureAlone(train, values); err != nil {
		return nil, err
	}
	start := time.Now()
	d := pattern.Train(train)
	r.train = time.Since(start)
	if d == nil {
		r.pattern = r.raw
		return r, nil
	}
	r.dictionary = len(d.Append(nil))
	return r, r.measurePattern(d, values)
}

// divide returns records to train with, evenly spaced, and the remaining ones.
func divide(values [][]byte) (train, others [][]byte) {
	total := 0
	for _, v := range values {
		total += len(v)
	}
	every := max(2, (total+trainBytes-1)/trainBytes)
	for i, v := range values {
		if i%every == 0 {
			train = append(train, v)
		} else {
			others = append(others, v)
		}
	}
	return train, others
}

// measurePattern measures the pattern codec, and returns an error if it is not lossless.
func (r *result) measurePattern(d *pattern.Dictionary, values [][]byte) error {
	e := d.NewEncoder()
	records, room := make([][]byte, len(values)), 0
	for i, v := range values {
		records[i] = e.Append(nil, v)
		r.pattern += len(records[i])
		room = max(room, len(v)+pattern.Spare)
	}
	n, buf := timed(values), make([]byte, 0, room)
	r.encode = best(n, func(i int) { buf = e.Append(buf[:0], values[i]) })
	r.decode = best(n, func(i int) { buf, _ = d.Decode(buf[:0], records[i]) })
	r.length = best(n, func(i int) { _, _ = d.DecodedLen(records[i]) })
	for _, record := range records[:n] {
		r.work += time.Duration(d.Work(record))
	}
	r.work /= time.Duration(n)
	for i, v := range values {
		got, err := d.Decode(buf[:0], records[i])
		if err != nil {
			return fmt.Errorf("record %d: %w", i, err)
		}
		if size, err := d.DecodedLen(records[i]); string(got) != string(v) || size != len(v) {
			return fmt.Errorf("record %d is not what it was: %w", i, err)
		}
	}
	return nil
}

// timed returns the number of records to time, from the first one.
func timed(values [][]byte) int {
	size := 0
	for i, v := range values {
		if size += len(v); size > timedBytes {
			return i + 1
		}
	}
	return len(values)
}

// best returns the shortest time of a call in several passes over n records.
func best(n int, fn func(i int)) time.Duration {
	shortest := time.Duration(1 << 62)
	for range passes {
		start := time.Now()
		for i := range n {
			fn(i)
		}
		shortest = min(shortest, time.Since(start)/time.Duration(n))
	}
	return shortest
}
