package run

import (
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
)

// dictionaries is the dictionaries that a run may refer to.
type dictionaries struct {
	existing []*block.Dictionary // by number
	added    []*block.Dictionary // by this run
	trained  map[uint64]bool     // buckets for which this run has tried to train one
	encoder  *block.Encoder      // the last one used, as an encoder takes up to half a megabyte
}

// Replaced reports whether values encoded with a dictionary are to be re-encoded when they are
// next written: there are many dictionaries, and this one's bucket has a newer one.
func Replaced(all []*block.Dictionary, number uint64) bool {
	if len(all) < manyDictionaries {
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

// newest returns an encoder with the newest dictionary of a bucket, or nil if it has none.
func (ds *dictionaries) newest(bucket uint64) (e *block.Encoder, err error) {
	for _, d := range slices.Backward(slices.Concat(ds.existing, ds.added)) {
		if d.Bucket != bucket {
			continue
		}
		if ds.encoder == nil || ds.encoder.Dictionary != d {
			ds.encoder, err = d.NewEncoder()
		}
		return ds.encoder, err
	}
	return nil, nil
}

// use notes that blocks refer to the encoder's dictionary, which gets a number if it is new.
func (ds *dictionaries) use(e *block.Encoder, nextNumber func() uint64) {
	ds.encoder = e
	if d := e.Dictionary; d.Number == 0 {
		d.Number = nextNumber()
		ds.added = append(ds.added, d)
	}
}

// decode returns an entry with its value decoded. The value is appended to dst if it was encoded.
func (ds *dictionaries) decode(e keyspace.Entry, dst []byte) (keyspace.Entry, error) {
	if e.Dictionary == 0 {
		return e, nil
	}
	d, err := ds.numbered(e.Dictionary)
	if err != nil {
		return e, err
	}
	if e.Value, err = d.Decode(dst, e.Value, e.Size()); err != nil {
		err = corrupt.New("a table", 0, "%v", err)
	}
	e.Dictionary, e.Length = 0, 0
	return e, err
}

// describe returns the dictionaries that tables refer to, for the manifest.
func (ds *dictionaries) describe(tables []*manifest.Table) (all []manifest.Dictionary, err error) {
	known := make(map[uint64]bool)
	for _, t := range tables {
		for _, number := range t.Dictionaries {
			if known[number] {
				continue
			}
			known[number] = true
			d, err := ds.numbered(number)
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

func (ds *dictionaries) numbered(number uint64) (*block.Dictionary, error) {
	for _, all := range [][]*block.Dictionary{ds.existing, ds.added} {
		for _, d := range all {
			if d.Number == number {
				return d, nil
			}
		}
	}
	return nil, corrupt.New("a table", 0, "it refers to dictionary %06d, which does not exist", number)
}
