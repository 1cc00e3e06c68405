package manifest

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
)

// maxDictionaryBytes is the largest size of a dictionary.
const maxDictionaryBytes = 64 << 10

// Dictionary holds what the values of a bucket have in common. Tables that refer to it cannot be
// read without it. Immutable.
type Dictionary struct {
	Number uint64 // shares one sequence with file numbers
	Bucket uint64 // whose values it was made for, but it can encode others
	// Fit is how many bytes a thousand bytes of those values took when it was made. If they take
	// more now, the values have changed since.
	Fit  uint64
	Data []byte
}

// withDictionaries returns the dictionaries that tables of v refer to, by number. Duplicates in all
// are allowed if they are equal. It returns an error if a dictionary is missing.
func (v *Version) withDictionaries(all []Dictionary) ([]Dictionary, error) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Dictionary) int { return cmp.Compare(a.Number, b.Number) })
	for i, d := range all {
		if len(d.Data) > maxDictionaryBytes {
			return nil, fmt.Errorf("dictionary %06d has %d bytes", d.Number, len(d.Data))
		}
		if i > 0 && d.Number == all[i-1].Number &&
			(d.Bucket != all[i-1].Bucket || d.Fit != all[i-1].Fit || !bytes.Equal(d.Data, all[i-1].Data)) {
			return nil, fmt.Errorf("two dictionaries have the number %06d", d.Number)
		}
	}
	all = slices.CompactFunc(all, func(a, b Dictionary) bool { return a.Number == b.Number })
	used := make([]bool, len(all))
	for t := range v.Tables() {
		for _, number := range t.Dictionaries {
			i, ok := findDictionary(all, number)
			if !ok {
				return nil, fmt.Errorf("table %06d refers to dictionary %06d, which is missing",
					t.Number, number)
			}
			used[i] = true
		}
	}
	kept := all[:0]
	for i, d := range all {
		if used[i] {
			kept = append(kept, d)
		}
	}
	return slices.Clip(kept), nil
}

// Dictionary returns the dictionary with the given number.
func (v *Version) Dictionary(number uint64) (Dictionary, bool) {
	i, ok := findDictionary(v.Dictionaries, number)
	if !ok {
		return Dictionary{}, false
	}
	return v.Dictionaries[i], true
}

// findDictionary searches dictionaries, which are sorted by number.
func findDictionary(all []Dictionary, number uint64) (index int, ok bool) {
	return slices.BinarySearchFunc(all, number, func(d Dictionary, number uint64) int {
		return cmp.Compare(d.Number, number)
	})
}

func appendDictionaries(dst []byte, tag uint64, all []Dictionary) []byte {
	dst = appendCount(dst, tag, len(all))
	for _, d := range all {
		dst = appendBytes(appendUvarints(dst, d.Number, d.Bucket, d.Fit), d.Data)
	}
	return dst
}

func (d *decoder) dictionaries() []Dictionary {
	all := make([]Dictionary, d.count(minDictionaryBytes))
	for i := range all {
		all[i] = Dictionary{
			Number: d.number(), Bucket: d.number(), Fit: d.number(), Data: bytes.Clone(d.bytes()),
		}
	}
	return all
}
