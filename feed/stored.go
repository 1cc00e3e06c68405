package feed

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
)

// Stored is a feed opened without the Go type of its values, for reading: for tools, and for
// programs that show any database. It is safe for concurrent use; transactions are not. A feed that
// is deleted and created again makes it [ErrOutdated].
type Stored struct {
	f *Feed[StoredValue]
}

// StoredField describes a field of the values of a stored feed.
type StoredField struct {
	Name string // as in tags; with the path of structs around it, as in "home.city"
	Type string // as it is stored, such as int32, "list of string" or map[string]int64
}

// StoredSublog describes a sublog of a stored feed.
type StoredSublog struct {
	Name    string
	Missing uint64 // kept entries that it lacks, and that are added when a program opens the feed
}

// OpenStored opens the feed with the given name for reading, without the Go type of its values.
// Queries run as those of a [Feed] do, with filters, and loops may be live. It does not check a
// feed on a salvaged database, as [Open] does.
//
// The error is [stoat.ErrBucketNotFound] if there is no such bucket, [stoat.ErrNotFound] if it is
// not a feed, and [stoat.ErrFormat] if it needs a newer version of this package.
func OpenStored(tx *stoat.Tx, name string) (*Stored, error) {
	s, err := openStored(tx, name)
	if err != nil {
		return nil, fmt.Errorf("open feed %q: %w", name, err)
	}
	return s, nil
}

func openStored(tx *stoat.Tx, name string) (*Stored, error) {
	root, err := tx.Bucket([]byte(name))
	if err != nil {
		return nil, err
	}
	format, err := root.Get([]byte(formatKey))
	if errors.Is(err, stoat.ErrNotFound) {
		return nil, fmt.Errorf("the bucket is not a feed: %w", err)
	}
	if err != nil {
		return nil, err
	}
	c, err := newUntypedCodec(string(format))
	if err != nil {
		return nil, err
	}
	s, err := sessionOf(tx, name)
	if err != nil {
		return nil, err
	}
	known, err := s.lineage()
	if err == nil {
		err = known.check(s.edition)
	}
	if err != nil {
		return nil, err
	}
	f := &Feed[StoredValue]{name: name, codec: c, raw: true} // it only reads
	f.known.Store(&known)
	return &Stored{f}, nil
}

// Name returns the feed's name.
func (s *Stored) Name() string { return s.f.name }

// Encoding returns how values are stored: "struct" or "bytes", which are [EncodingAuto], or "json".
func (s *Stored) Encoding() string {
	encoding, _, _ := strings.Cut(s.f.codec.name(), " ") // from its version
	return encoding
}

// Fields returns the fields of the values that a program would append, those of the newest schema;
// none if values are not structs. Older values may have others: see [StoredValue.Names].
func (s *Stored) Fields(tx *stoat.Tx) ([]StoredField, error) {
	in, err := s.f.session(tx)
	if err != nil || s.f.codec.name() != structFormat {
		return nil, err
	}
	schema, err := in.newestSchema()
	if err != nil || schema == nil {
		return nil, err
	}
	var all []StoredField
	for _, f := range schema.Fields {
		all = append(all, StoredField{f.Name, f.Type.String()})
	}
	return all, nil
}

// Query returns the query for all entries, in ascending order.
func (s *Stored) Query() Query[StoredValue] { return s.f.Query() }

// Len returns the number of entries ever appended, which is also the number of the next entry.
func (s *Stored) Len(tx *stoat.Tx) (uint64, error) { return s.f.Len(tx) }

// First returns the number of the oldest entry that is kept, or [Stored.Len] if there is none.
func (s *Stored) First(tx *stoat.Tx) (uint64, error) { return s.f.First(tx) }

// Size returns the size of the encoded values of all entries that are kept, as they were appended:
// what [Retention] limits. Values that were redacted since count.
func (s *Stored) Size(tx *stoat.Tx) (uint64, error) {
	in, err := s.f.session(tx)
	if err != nil || in.first == in.next {
		return 0, err
	}
	oldest, err := in.stored(in.first)
	if err == nil && oldest.before > in.written {
		err = damaged("feed %q: %d bytes were written, %d of them before entry %d", s.f.name,
			in.written, oldest.before, in.first)
	}
	if err != nil {
		return 0, err
	}
	return in.written - oldest.before, nil
}

// Sublogs returns the sublogs, in the order of their names.
func (s *Stored) Sublogs(tx *stoat.Tx) ([]StoredSublog, error) {
	in, err := s.f.session(tx)
	if err != nil {
		return nil, err
	}
	var all []StoredSublog
	for _, sub := range in.sublogs {
		from := min(max(sub.next, in.first), in.next)
		all = append(all, StoredSublog{sub.name, in.next - from})
	}
	slices.SortFunc(all, func(a, b StoredSublog) int {
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// Addresses is [Feed.Addresses].
func (s *Stored) Addresses(tx *stoat.Tx, sublog string) iter.Seq2[Address, error] {
	return s.f.Addresses(tx, sublog)
}

// Consumers returns an iterator over the consumers, in the order of their names. If the loop fails,
// its last iteration yields an error.
func (s *Stored) Consumers(tx *stoat.Tx) iter.Seq2[Consumer, error] {
	return func(yield func(Consumer, error) bool) {
		in, err := s.f.session(tx)
		if err == nil {
			err = in.consumers(yield)
		}
		if err != nil && !errors.Is(err, errStop) {
			yield(Consumer{}, fmt.Errorf("feed %q: %w", s.f.name, err))
		}
	}
}
