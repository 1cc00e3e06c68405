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
	// maxBuckets is how many buckets a table is described by. A table of more has little of each,
	// which is quickly counted.
	maxBuckets = 16
	// staleShare of a table's bytes, as a divisor, must have expired before rewriting it pays off.
	staleShare = 4
	// maxExpiries limits the sample of expiry times.
	maxExpiries = 4096
)

// shares adds up what a table holds of each bucket and points to in each value file, and when it
// expires.
type shares struct {
	values  []manifest.ValueShare // in order of the first pointer into each file
	index   map[uint64]int        // in values, of each file
	last    int                   // index in values of the last pointer's file
	buckets []manifest.BucketShare
	many    bool         // there are more than maxBuckets
	before  table.Stored // what the table had stored before the last bucket

	pointed  uint64   // bytes of all values in value files
	bytes    uint64   // of all entries
	expiries []expiry // of every stride-th entry that expires
	stride   int
	skip     int // entries that expire until the next one that counts
}

// expiry is an entry that expires: when, and its size.
type expiry struct{ until, bytes uint64 }

// add counts an entry that is about to be added to the table. stored is what the table has stored.
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
	if id, ok := keyspace.BucketOf(key); ok && e.Kind != keyspace.KindDelete && keyspace.IsData(key) {
		s.addToBucket(id, stored, 1, size)
	}
	return nil
}

// endBucket counts for the last bucket what the table has stored since the one before.
func (s *shares) endBucket(stored table.Stored) {
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
		i, known := s.index[p.File]
		if !known {
			i = len(s.values)
			s.values = append(s.values, manifest.ValueShare{File: p.File})
			if s.index == nil {
				s.index = make(map[uint64]int)
			}
			s.index[p.File] = i
		}
		s.last = i
	}
	s.pointed += uint64(p.Length)
	s.values[s.last].Count++
	s.values[s.last].Bytes += uint64(p.Length)
}

// addPuts counts puts of one bucket that neither expire nor point elsewhere.
func (s *shares) addPuts(bucket uint64, stored table.Stored, entries, bytes uint64) {
	s.bytes += bytes
	s.addToBucket(bucket, stored, entries, bytes)
}

// addToBucket counts entries of the last bucket or of one behind it, unless there are too many.
func (s *shares) addToBucket(id uint64, stored table.Stored, entries, bytes uint64) {
	if s.many {
		return
	}
	if n := len(s.buckets); n == 0 || s.buckets[n-1].Bucket != id {
		s.endBucket(stored)
		if n == maxBuckets {
			s.many, s.buckets = true, nil
			return
		}
		s.buckets = append(s.buckets, manifest.BucketShare{Bucket: id})
	}
	b := &s.buckets[len(s.buckets)-1]
	b.Entries += entries
	b.Bytes += bytes
}

// addExpiry keeps every stride-th expiry, and doubles the stride when there are too many.
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

// staleAt returns when enough of the table's bytes have expired to make it stale, or 0 if that
// never happens.
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
