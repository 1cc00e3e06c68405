package run

import (
	"cmp"
	"slices"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/table"
	"github.com/stoatdb/stoat/internal/valuelog"
)

const (
	// maxBuckets is how many buckets a table is described by. A table with more of them has little
	// of each, which is quickly counted.
	maxBuckets = 16
	// staleShare of a table's bytes, as a divisor, must have expired before rewriting it pays.
	staleShare = 4
	// maxExpiries bounds the sample of when entries expire.
	maxExpiries = 4096
)

// shares adds up what a table holds by bucket, by value file, and by time of expiry.
type shares struct {
	values  []manifest.ValueShare // in the order in which they were first met
	places  map[uint64]int        // of each file in values
	last    int                   // index in values of the last pointer's file
	buckets []manifest.BucketShare
	many    bool         // there are more than maxBuckets
	before  table.Stored // what the table stored before the last bucket

	pointed  uint64   // bytes of all values in value files
	bytes    uint64   // of all entries
	expiries []expiry // of every stride-th entry that expires
	stride   int
	skip     int
}

// expiry says when how many bytes expire.
type expiry struct{ until, bytes uint64 }

// add counts an entry that the table, which has stored so much, will have.
func (s *shares) add(key []byte, e keyspace.Entry, stored table.Stored) error {
	size := uint64(len(key) + e.Size())
	if e.Kind == keyspace.KindPointer {
		p, err := valuelog.ParsePointer(e.Value)
		if err != nil {
			return err
		}
		s.addPointer(p)
		size = uint64(len(key)) + uint64(p.Length)
	}
	s.bytes += size
	if e.Until != 0 {
		s.addExpiry(expiry{e.Until, size})
	}
	if e.Kind != keyspace.KindDelete && keyspace.IsData(key) {
		s.addToBucket(key, size, stored)
	}
	return nil
}

// end counts what the table has stored, since this was last called, for the last bucket.
func (s *shares) end(stored table.Stored) {
	if n := len(s.buckets); n > 0 {
		b := &s.buckets[n-1]
		b.Stored += stored.Bytes - s.before.Bytes
		b.Zstd += stored.Codecs[block.Zstd] - s.before.Codecs[block.Zstd]
		b.Pattern += stored.Codecs[block.Pattern] - s.before.Codecs[block.Pattern]
	}
	s.before = stored
}

func (s *shares) addPointer(p valuelog.Pointer) {
	if s.last >= len(s.values) || s.values[s.last].File != p.File {
		at, known := s.places[p.File]
		if !known {
			at = len(s.values)
			s.values = append(s.values, manifest.ValueShare{File: p.File})
			if s.places == nil {
				s.places = make(map[uint64]int)
			}
			s.places[p.File] = at
		}
		s.last = at
	}
	s.pointed += uint64(p.Length)
	s.values[s.last].Count++
	s.values[s.last].Bytes += uint64(p.Length)
}

func (s *shares) addToBucket(key []byte, size uint64, stored table.Stored) {
	id, ok := keyspace.BucketOf(key)
	if !ok {
		return
	}
	if b := s.bucket(id, stored); b != nil {
		b.Entries++
		b.Bytes += size
	}
}

// bucket returns the share of a bucket, which comes after all others, or nil if there are too many.
// stored says what the table has stored.
func (s *shares) bucket(id uint64, stored table.Stored) *manifest.BucketShare {
	if s.many {
		return nil
	}
	if n := len(s.buckets); n == 0 || s.buckets[n-1].Bucket != id {
		s.end(stored)
		if n == maxBuckets {
			s.many, s.buckets = true, nil
			return nil
		}
		s.buckets = append(s.buckets, manifest.BucketShare{Bucket: id})
	}
	return &s.buckets[len(s.buckets)-1]
}

// addExpiry keeps every stride-th expiry, and doubles the stride when those are many.
func (s *shares) addExpiry(x expiry) {
	if s.skip--; s.skip > 0 {
		return
	}
	s.stride = max(s.stride, 1)
	s.skip = s.stride
	s.expiries = append(s.expiries, x)
	if len(s.expiries) < maxExpiries {
		return
	}
	for i := range len(s.expiries) / 2 {
		s.expiries[i] = s.expiries[2*i]
	}
	s.expiries = s.expiries[:len(s.expiries)/2]
	s.stride *= 2
}

// staleAt returns when the share of the table's bytes that makes it stale has expired, or 0 if so
// much never does.
func (s *shares) staleAt() uint64 {
	slices.SortFunc(s.expiries, func(a, b expiry) int { return cmp.Compare(a.until, b.until) })
	var gone uint64
	for _, x := range s.expiries {
		if gone += x.bytes * uint64(s.stride); gone*staleShare >= s.bytes {
			return x.until
		}
	}
	return 0
}

// describe completes the description of the table.
func (s *shares) describe(t *manifest.Table) {
	slices.SortFunc(s.values, func(a, b manifest.ValueShare) int {
		return cmp.Compare(a.File, b.File)
	})
	t.Values, t.Buckets, t.StaleAt = s.values, s.buckets, s.staleAt()
}
