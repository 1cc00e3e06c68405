package feed

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
)

// lineage is the editions of a feed: the first derives from its format, and each schema adds one.
// An edition is a digest of the whole history, so that feeds with the same edition store entries in
// the same way. It is immutable.
type lineage []uint64

// lineageOf returns the lineage of a feed with this format and these schemas.
func lineageOf(tx *stoat.Tx, format string, schemas *stoat.Bucket) (lineage, error) {
	all := lineage{nextEdition(0, []byte(format))}
	before := tx.Err()
	for _, p := range schemas.Scan(stoat.Range{}) {
		all = append(all, nextEdition(all.newest(), p))
	}
	if before != nil { // the error belongs to another loop
		return all, nil
	}
	return all, tx.Err()
}

// nextEdition returns the edition that follows another one.
func nextEdition(before uint64, added []byte) uint64 {
	p := binary.LittleEndian.AppendUint64(nil, before)
	sum := sha256.Sum256(append(p, added...))
	return binary.LittleEndian.Uint64(sum[:])
}

// newest returns the last edition.
func (l lineage) newest() uint64 { return l[len(l)-1] }

// check returns an error unless the newest edition is that of the state, as it is not if
// schemas are lost.
func (l lineage) check(edition uint64) error {
	if l.newest() != edition {
		return damaged("the edition of the schemas is %x, that of the state %x", l.newest(), edition)
	}
	return nil
}

// session returns the feed's session in tx, or [ErrOutdated] if the feed there is not the one that
// was opened.
func (f *Feed[T]) session(tx *stoat.Tx) (*session, error) {
	s, err := sessionOf(tx, f.name)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(*f.known.Load(), s.edition) {
		if err := f.learnEditions(s); err != nil {
			return nil, fmt.Errorf("feed %q: %w", f.name, err)
		}
	}
	return s, nil
}

// learnEditions adds schemas stored since the feed was opened to those it knows. If anything else
// has changed, the error is ErrOutdated.
func (f *Feed[T]) learnEditions(s *session) error {
	present, err := s.lineage()
	if err != nil {
		return err
	}
	for {
		known := f.known.Load()
		if slices.Contains(*known, s.edition) { // learned concurrently
			return nil
		}
		if len(present) < len(*known) || !slices.Equal(present[:len(*known)], *known) {
			return ErrOutdated
		}
		if err := present.check(s.edition); err != nil {
			return err
		}
		if f.known.CompareAndSwap(known, &present) { // it only grows
			return nil
		}
	}
}

// lineage returns the stored lineage.
func (s *session) lineage() (lineage, error) {
	format, err := s.root.Get([]byte(formatKey))
	if err != nil {
		return nil, err
	}
	schemas, err := s.schemas()
	if err != nil {
		return nil, err
	}
	return lineageOf(s.tx, string(format), schemas)
}

// checkEdition returns an error unless the stored schemas are those that the state knows.
func (s *session) checkEdition() error {
	present, err := s.lineage()
	if err != nil {
		return err
	}
	return present.check(s.edition)
}

// checkSchema returns ErrOutdated unless the schema with which the feed writes is stored in this
// transaction, which may see a state from before the feed was opened.
func (f *Feed[T]) checkSchema(s *session) error {
	if slices.Index(*f.known.Load(), s.edition) < f.codec.needs() {
		return fmt.Errorf("feed %q: %w", f.name, ErrOutdated)
	}
	return nil
}
