package torture

import (
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// verdict compares the result of a salvage with the last state.
type verdict struct {
	report  *stoat.SalvageReport
	all     map[model.Entry]bool // everything that was salvaged, of any bucket
	catalog bool                 // some buckets and sequences are lost
	mixed   bool                 // the remaining names of buckets are from different times
}

func newVerdict(got *model.Bucket, r *stoat.SalvageReport) *verdict {
	v := &verdict{report: r, all: make(map[model.Entry]bool)}
	v.collect(got)
	v.catalog = slices.ContainsFunc(r.Ranges, func(x stoat.SalvageRange) bool { return x.Catalog }) ||
		slices.ContainsFunc(r.Keys, func(k stoat.SalvageKey) bool { return k.Catalog })
	v.mixed = v.catalog || r.Transactions > 0
	return v
}

func (v *verdict) collect(b *model.Bucket) {
	for _, e := range b.Scan("", "", false, 0) {
		v.all[e] = true
	}
	for _, name := range b.Buckets() {
		v.collect(b.Bucket(name))
	}
}

// isNewest checks that a bucket holds exactly its last contents, except for what the report lists.
func (v *verdict) isNewest(path []string, got, want *model.Bucket) error {
	now := make(map[string]string)
	for _, e := range got.Scan("", "", false, 0) {
		now[e.Key] = e.Value
	}
	for _, e := range want.Scan("", "", false, 0) {
		value, found := now[e.Key]
		delete(now, e.Key)
		if (!found || value != e.Value) && !v.inReport(path, e.Key) && !v.strayed(path, e) {
			return fmt.Errorf("in %q, key %q is not what it was last (found: %v)", path, e.Key, found)
		}
	}
	for key := range now {
		if !v.inReport(path, key) && !v.mayBeAnother(path) {
			return fmt.Errorf("in %q, key %q should not be there", path, key)
		}
	}
	if got.Sequence() != want.Sequence() && !v.catalog {
		return fmt.Errorf("in %q, the sequence is %d, want %d", path, got.Sequence(), want.Sequence())
	}
	for _, name := range want.Buckets() {
		child := got.Bucket(name)
		if child == nil && !v.catalog {
			return fmt.Errorf("in %q, bucket %q is missing", path, name)
		}
		if child == nil {
			continue
		}
		if err := v.isNewest(append(slices.Clip(path), name), child, want.Bucket(name)); err != nil {
			return err
		}
	}
	return nil
}

// mayBeAnother reports whether a path may lead to the previous bucket of that name, which was moved
// or deleted since: where the newer part of the catalog is lost, the older one counts.
func (v *verdict) mayBeAnother(path []string) bool { return v.mixed && len(path) > 0 }

// strayed reports whether an entry is in another bucket than the one at its path, because the path
// leads elsewhere. The report lists losses of buckets without names under their new names.
func (v *verdict) strayed(path []string, e model.Entry) bool {
	if !v.mayBeAnother(path) {
		return false
	}
	return v.all[e] ||
		slices.ContainsFunc(v.report.Keys, func(k stoat.SalvageKey) bool {
			return !k.Catalog && string(k.Key) == e.Key
		}) ||
		slices.ContainsFunc(v.report.Ranges, func(x stoat.SalvageRange) bool {
			return !x.Catalog && holds(x, e.Key)
		})
}

// inReport reports whether the report says that a key may be lost or outdated.
func (v *verdict) inReport(path []string, key string) bool {
	for _, k := range v.report.Keys {
		if !k.Catalog && slices.Equal(k.Bucket, path) && string(k.Key) == key {
			return true
		}
	}
	return slices.ContainsFunc(v.report.Ranges, func(x stoat.SalvageRange) bool {
		return !x.Catalog && !x.Unknown && slices.Equal(x.Bucket, path) && holds(x, key)
	})
}

// holds reports whether a key is within a range.
func holds(x stoat.SalvageRange, key string) bool {
	return string(x.Start) <= key && (len(x.End) == 0 || key < string(x.End))
}
