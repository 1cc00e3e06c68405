package posting

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The forms in which sets are stored. They are on disk.
const (
	formGaps   byte = 1
	formBitmap byte = 2
	formRuns   byte = 3
)

// bitmapBytes is the size of a stored bitmap.
const bitmapBytes = wordCount * 8

// errForm reports bytes that do not encode a set.
var errForm = errors.New("not a set of numbers")

// Append appends the stored form of the set.
func (s Set) Append(dst []byte) []byte {
	gaps, runs := s.sizes()
	switch {
	case gaps <= runs && gaps < bitmapBytes:
		return s.appendGaps(dst)
	case runs < bitmapBytes:
		return s.appendRuns(dst)
	}
	dst = append(dst, formBitmap)
	for _, w := range s.bitmap() {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}

// sizes returns the sizes of the set as gaps and as runs, in bytes.
func (s Set) sizes() (gaps, runs int) {
	end := 0
	s.eachRun(func(low, high int) {
		length := high - low
		gaps += uvarintLen(low-end) + length - 1
		runs += uvarintLen(low-end) + uvarintLen(length-1)
		end = high
	})
	return gaps, runs
}

// uvarintLen returns the length of a uvarint below Size, in bytes.
func uvarintLen(n int) int {
	switch {
	case n < 1<<7:
		return 1
	case n < 1<<14:
		return 2
	}
	return 3
}

// eachRun calls fn for each run of consecutive numbers, from low, inclusive, to high, exclusive.
func (s Set) eachRun(fn func(low, high int)) {
	low, high := 0, 0
	add := func(n int) {
		if n > high && high > low {
			fn(low, high)
		}
		if n > high || high == low {
			low = n
		}
		high = n + 1
	}
	if s.words == nil {
		for _, n := range s.list {
			add(int(n))
		}
	} else {
		for n, ok := s.Next(0); ok; n, ok = s.Next(n + 1) {
			add(n)
		}
	}
	if high > low {
		fn(low, high)
	}
}

func (s Set) appendGaps(dst []byte) []byte {
	dst = append(dst, formGaps)
	end := 0
	s.eachRun(func(low, high int) {
		dst = binary.AppendUvarint(dst, uint64(low-end))
		for range high - low - 1 {
			dst = append(dst, 0)
		}
		end = high
	})
	return dst
}

func (s Set) appendRuns(dst []byte) []byte {
	dst = append(dst, formRuns)
	end := 0
	s.eachRun(func(low, high int) {
		dst = binary.AppendUvarint(dst, uint64(low-end))
		dst = binary.AppendUvarint(dst, uint64(high-low-1))
		end = high
	})
	return dst
}

// Parse parses the stored form of a set. It does not retain p.
func Parse(p []byte) (Set, error) {
	if len(p) == 0 {
		return Set{}, errForm
	}
	switch rest := p[1:]; {
	case p[0] == formGaps:
		return parseGaps(rest)
	case p[0] == formRuns:
		return parseRuns(rest)
	case p[0] == formBitmap && len(rest) == bitmapBytes:
		b := new(bitmap)
		for i := range b {
			b[i] = binary.LittleEndian.Uint64(rest[i*8:])
		}
		return compact(b), nil
	}
	return Set{}, fmt.Errorf("%w: form %d with %d bytes", errForm, p[0], len(p))
}

func parseGaps(p []byte) (Set, error) {
	list := make([]uint16, 0, min(len(p), Size))
	end := 0
	for len(p) > 0 {
		gap, rest, err := parseNumber(p)
		if err != nil {
			return Set{}, err
		}
		if end+gap >= Size {
			return Set{}, fmt.Errorf("%w: %d is too high", errForm, end+gap)
		}
		list = append(list, uint16(end+gap))
		end, p = end+gap+1, rest
	}
	return Of(list), nil
}

func parseRuns(p []byte) (Set, error) {
	count := 0
	err := eachStoredRun(p, func(low, high int) { count += high - low })
	if err != nil {
		return Set{}, err
	}
	if count > listMax {
		b := new(bitmap)
		err := eachStoredRun(p, b.fill)
		return Set{words: b, count: count}, err
	}
	list := make([]uint16, 0, count)
	err = eachStoredRun(p, func(low, high int) {
		for n := low; n < high; n++ {
			list = append(list, uint16(n))
		}
	})
	return Set{list: list}, err
}

// eachStoredRun calls fn for each run, from low, inclusive, to high, exclusive.
func eachStoredRun(p []byte, fn func(low, high int)) error {
	end := 0
	for len(p) > 0 {
		gap, rest, err := parseNumber(p)
		if err != nil {
			return err
		}
		more, rest, err := parseNumber(rest)
		if err != nil {
			return err
		}
		low, high := end+gap, end+gap+more+1
		if high > Size {
			return fmt.Errorf("%w: %d is too high", errForm, high-1)
		}
		fn(low, high)
		end, p = high, rest
	}
	return nil
}

// parseNumber reads a uvarint below Size from p.
func parseNumber(p []byte) (n int, rest []byte, err error) {
	v, size := binary.Uvarint(p)
	if size <= 0 || v >= Size {
		return 0, nil, fmt.Errorf("%w: bad number", errForm)
	}
	return int(v), p[size:], nil
}
