package run

import (
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// maxDictionaries is how many a database may have, each of which stays in memory and in the
// manifest. When half of them are there, those that newer ones replaced have to go, and no more are
// made for buckets that are smaller than a sample.
const maxDictionaries = 32

// Replaced reports whether all that is encoded with a dictionary is to be encoded anew where it is
// written: there are many, and its bucket has a newer one.
func Replaced(all []*block.Dictionary, number uint64) bool {
	if len(all) < maxDictionaries/2 {
		return false
	}
	for i, d := range all {
		if d.Number == number {
			return slices.ContainsFunc(all[i+1:], func(newer *block.Dictionary) bool {
				return newer.Bucket == d.Bucket
			})
		}
	}
	return false
}

// newest returns the last dictionary that was made for a bucket, or nil.
func (w *Writer) newest(bucket uint64) *block.Dictionary {
	for _, all := range [][]*block.Dictionary{w.choice.new, w.config.Dictionaries} {
		for i := len(all) - 1; i >= 0; i-- {
			if all[i].Bucket == bucket {
				return all[i]
			}
		}
	}
	return nil
}

// encoderOf returns an encoder for d.
func (w *Writer) encoderOf(d *block.Dictionary) (e *block.Encoder, err error) {
	if w.choice.encoder == nil || w.choice.encoder.Dictionary != d {
		w.choice.encoder, err = d.NewEncoder()
	}
	return w.choice.encoder, err
}

// use notes that blocks refer to the encoder's dictionary, which gets a number if it is new.
func (w *Writer) use(e *block.Encoder) {
	w.choice.encoder = e
	if d := e.Dictionary; d.Number == 0 {
		d.Number = w.config.NextNumber()
		w.choice.new = append(w.choice.new, d)
	}
}

// decoded returns an entry with its value as it was, which is appended to dst if it is encoded.
func (w *Writer) decoded(e keyspace.Entry, dst []byte) (keyspace.Entry, error) {
	if e.Dictionary == 0 {
		return e, nil
	}
	d, err := w.dictionary(e.Dictionary)
	if err != nil {
		return e, err
	}
	if e.Value, err = d.Decode(dst, e.Value, e.Size()); err != nil {
		err = corrupt.New("a table", 0, "%v", err)
	}
	e.Dictionary, e.Length = 0, 0
	return e, err
}

// describeDictionaries returns the dictionaries that the tables refer to.
func (w *Writer) describeDictionaries() ([]manifest.Dictionary, error) {
	var all []manifest.Dictionary
	known := make(map[uint64]bool)
	for _, t := range w.tables {
		for _, number := range t.Dictionaries {
			if known[number] {
				continue
			}
			known[number] = true
			d, err := w.dictionary(number)
			if err != nil {
				return nil, err
			}
			all = append(all, manifest.Dictionary{
				Number: number, Bucket: d.Bucket, Fit: d.Fit, Data: d.Data(),
			})
		}
	}
	return all, nil
}

// dictionary returns the dictionary with the given number.
func (w *Writer) dictionary(number uint64) (*block.Dictionary, error) {
	for _, all := range [][]*block.Dictionary{w.config.Dictionaries, w.choice.new} {
		for _, d := range all {
			if d.Number == number {
				return d, nil
			}
		}
	}
	return nil, corrupt.New("a table", 0, "it refers to dictionary %06d, which is not there", number)
}
