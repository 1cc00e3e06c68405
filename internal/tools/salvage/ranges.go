package salvage

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/keyspace"
)

// ranges adds a span of internal keys to the report, by bucket.
func (r *recorder) ranges(s fileSpan) {
	if catalog := (keyspace.Span{End: keyspace.FirstData()}); overlap(s.span, catalog) {
		r.add(Range{File: s.file, Catalog: true})
	}
	data := s.span.Intersect(keyspace.Span{Start: keyspace.FirstData()})
	first, _ := keyspace.BucketOf(data.Start)
	last, ok := keyspace.BucketOf(data.End)
	if ok && first == last {
		if path, known := r.catalog.path(first); known {
			r.add(rangeOf(s.file, path, first, data))
			return
		}
	}
	if !overlap(data, keyspace.Span{}) {
		return
	}
	r.add(Range{File: s.file, Unknown: true})
	ids := slices.Collect(maps.Keys(r.catalog.buckets))
	ids = slices.AppendSeq(ids, maps.Keys(r.catalog.lost))
	slices.Sort(ids)
	for _, id := range append([]uint64{keyspace.RootID}, ids...) {
		prefix := keyspace.AppendPrefix(nil, id)
		within := data.Intersect(keyspace.Span{Start: prefix, End: keyspace.Successor(prefix)})
		if overlap(within, keyspace.Span{}) {
			path, _ := r.catalog.path(id)
			r.add(rangeOf(s.file, path, id, within))
		}
	}
}

// rangeOf returns the range of a bucket that a span of its internal keys stands for.
func rangeOf(file string, path []string, id uint64, span keyspace.Span) Range {
	prefix := keyspace.AppendPrefix(nil, id)
	found := Range{File: file, Bucket: path}
	if bytes.HasPrefix(span.Start, prefix) {
		found.Start = span.Start[len(prefix):]
	}
	if bytes.HasPrefix(span.End, prefix) {
		found.End = span.End[len(prefix):]
	}
	return found
}

func (r *recorder) add(found Range) {
	if len(r.made.Ranges) == listMax {
		r.made.MoreRanges++
		return
	}
	r.made.Ranges = append(r.made.Ranges, found)
}

func overlap(a, b keyspace.Span) bool {
	both := a.Intersect(b)
	return both.End == nil || bytes.Compare(both.Start, both.End) < 0
}

// reasonOf returns what is wrong, without the file and the offset if the error has them.
func reasonOf(err error) string {
	var damage *corrupt.Error
	if errors.As(err, &damage) {
		return damage.Reason
	}
	return err.Error()
}
