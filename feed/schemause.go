package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

// schemaUse is the entries that have a schema.
type schemaUse struct{ count, first, last uint64 }

// use counts an entry to those that have its schema.
func (b *rebuild) use(seq uint64, value []byte) error {
	number, err := layout.Number(value)
	if err != nil {
		return fmt.Errorf("entry %d: %w", seq, err)
	}
	u := b.used[number]
	if u == nil {
		u = &schemaUse{first: seq}
		b.used[number] = u
	}
	u.count, u.last = u.count+1, seq
	return nil
}

// restoreSchema stores the schema that entries have but that is lost, if it is that of the
// program's type. The state proves that: its edition is a digest of all schemas. That the entries
// can be decoded proves nothing, because other fields of the same types would do, too.
func (b *rebuild) restoreSchema() error {
	lost, err := b.lostSchemas()
	if err != nil || len(lost) == 0 {
		return err
	}
	if len(lost) > 1 || b.own == nil {
		return b.refuse(lost)
	}
	s := b.session()
	schemas, err := s.schemas()
	if err != nil {
		return err
	}
	schema := b.own.Numbered(lost[0]).Schema()
	if err := schemas.Put(schemaKey(lost[0]), schema.Append(nil)); err != nil {
		return err
	}
	present, err := s.lineage()
	if err == nil && present.check(b.edition) != nil {
		err = b.refuse(lost)
	}
	return err
}

// lostSchemas returns the numbers of the schemas that entries have but that are not stored.
func (b *rebuild) lostSchemas() ([]uint64, error) {
	schemas, err := b.session().schemas()
	if err != nil {
		return nil, err
	}
	lost := maps.Clone(b.used)
	for key, p := range schemas.Scan(stoat.Range{}) {
		schema, err := parseSchema(key, p)
		if err != nil {
			return nil, err
		}
		delete(lost, schema.Number)
	}
	return slices.Sorted(maps.Keys(lost)), b.tx.Err()
}

// refuse returns the error of entries whose schemas are lost.
func (b *rebuild) refuse(lost []uint64) error {
	var which []string
	for _, number := range lost {
		u := b.used[number]
		which = append(which, fmt.Sprintf("schema %d of %d entries from %d to %d", number, u.count,
			u.first, u.last))
	}
	reason := "call feed.Reindex with the type that they were appended with"
	switch {
	case len(lost) > 1:
		reason = "only one can be restored"
	case b.own != nil:
		reason = fmt.Sprintf("nothing proves that they were appended with type %s: use the one with "+
			"which they were", b.own.Type())
	}
	return b.giveUp(damaged("%s: a salvage lost it; %s", strings.Join(which, ", "), reason))
}
