package replica

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/value"
	"github.com/stoatdb/stoat/tuple"
)

// EntryID names an entry of a space.
type EntryID struct {
	Log LogID  `json:"log"`
	Seq uint64 `json:"seq"` // its number in the log, from 0 on
}

// Entry is what one transaction did to a space, as its log has it.
type Entry struct {
	EntryID
	Device  DeviceID // its author
	Hash    [32]byte
	Time    time.Time // by the clock of its author
	Kind    string    // "genesis", "data", "context" or "control"
	Seen    []EntryID // what its author had seen of other logs, and not named before
	Size    int       // in bytes, as it is stored
	Changes []Change  // of a data entry
	Act     string    // what a control entry decides, in words
	// Withheld are the collections about which the content of the entry is not here.
	Withheld []string

	at hlc.Time
}

// Compare orders entries by time, and entries of the same time by log. So what an entry has seen
// comes before it. It returns -1, 0 or 1.
func (e *Entry) Compare(other *Entry) int {
	return cmp.Or(cmp.Compare(e.at, other.at), bytes.Compare(e.Log[:], other.Log[:]))
}

// Change is what an entry did to a record.
type Change struct {
	Collection string
	Key        tuple.Tuple
	Deleted    bool
	Fields     []FieldChange // none: the record was only created, or deleted
}

// FieldChange is what an entry did to a field.
type FieldChange struct {
	Field string // by its first name
	// Rule says how changes of the field merge: "set", "keep", "sum", "max", "min", "elements" for
	// a list with the rule set, "entries" for a map.
	Rule string
	// Value is what the field was set to, or what was added to a sum. It is nil for a set.
	Value record.Value
	// Removed and Added are elements, or keys of a map. What an added key was set to is in Values.
	Removed, Added, Values []record.Value
}

// Entries returns an iterator over entries of a log: from the one with the number from up to the
// one before to, or the last. An error ends the loop.
func (s *Space) Entries(tx *stoat.Tx, log LogID, from, to uint64) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		t, err := s.in(tx)
		if err != nil {
			yield(nil, wrap(s.name, err))
			return
		}
		number, known, err := t.logNumber(entry.Hash(log))
		if err == nil && !known {
			err = fmt.Errorf("there is no log %s", log)
		}
		var h *head
		if err == nil {
			h, err = t.head(number)
		}
		if err != nil {
			yield(nil, wrap(s.name, err))
			return
		}
		for seq := from; seq < min(to, h.next); seq++ {
			e, err := t.readEntry(h, seq)
			if !yield(e, wrap(s.name, err)) || err != nil {
				return
			}
		}
	}
}

// readEntry returns an entry as people see it.
func (t *txn) readEntry(h *head, seq uint64) (*Entry, error) {
	hash, err := t.hashOf(h.number, seq)
	if err != nil {
		return nil, err
	}
	sent, err := t.sent(h.number, seq)
	if err != nil {
		return nil, err
	}
	parsed, err := entry.Parse(sent)
	if err != nil {
		return nil, fmt.Errorf("entry %d of log %s: %w: %w", seq, h.id, err, stoat.ErrCorrupt)
	}
	e := &Entry{EntryID: EntryID{LogID(h.id), seq}, Device: h.device, Hash: hash,
		Time: parsed.Time.Time(), Kind: kindName(parsed.Kind), Size: len(sent),
		at: parsed.Time}
	for _, c := range parsed.Context {
		e.Seen = append(e.Seen, EntryID{LogID(c.Log), c.Seq})
	}
	if parsed.Kind == entry.KindControl && len(parsed.Parts) == 1 {
		e.Act = actText(parsed)
	}
	if parsed.Kind != entry.KindData {
		return e, nil
	}
	changes, err := parseParts(parsed)
	if err == nil {
		err = e.addParts(parsed, changes)
	}
	if err != nil {
		return nil, fmt.Errorf("entry %d of log %s: %w", seq, h.id, err)
	}
	return e, nil
}

// actText returns what a control entry decides, in words, or nothing if it has no valid act.
func actText(e *entry.Entry) string {
	act, err := entry.ParseAct(e)
	switch {
	case err != nil:
		return ""
	case act.Grant != nil:
		to := "anyone"
		if !act.Grant.To.Anyone {
			to = DeviceID(act.Grant.To.Device).String()
		}
		return fmt.Sprintf("grants %s to %s", Right(act.Grant.Right), to)
	case act.Revoke != nil:
		return "revokes grant " + entryText(&act.Revoke.Grant)
	case act.Endorse != nil:
		return "endorses entry " + entryText(&act.Endorse.Act)
	}
	return "makes a checkpoint"
}

// entryText returns the id of an entry.
func entryText(e *entry.Head) string { return fmt.Sprintf("%s:%d", LogID(e.Log), e.Seq) }

// addParts adds what a data entry did, by part.
func (e *Entry) addParts(parsed *entry.Entry, changes []*entry.Changes) error {
	for i := range parsed.Parts {
		part := &parsed.Parts[i]
		if part.Withheld != nil {
			e.Withheld = append(e.Withheld, part.Group)
		}
		if err := e.addChanges(part.Group, changes[i]); err != nil {
			return err
		}
	}
	return nil
}

// kindName returns the word for a kind of entries.
func kindName(k entry.Kind) string {
	switch k {
	case entry.KindGenesis:
		return "genesis"
	case entry.KindData:
		return "data"
	case entry.KindContext:
		return "context"
	}
	return "control"
}

// addChanges adds what happened to a collection.
func (e *Entry) addChanges(collection string, changes *entry.Changes) error {
	for i := range changes.Records {
		r := &changes.Records[i]
		key, err := tuple.Decode(r.Key)
		if err != nil {
			return fmt.Errorf("collection %q: %w", collection, err)
		}
		c := Change{Collection: collection, Key: key, Deleted: r.Delete}
		for j := range r.Ops {
			f, err := fieldChange(changes.Fields[r.Ops[j].Field], &r.Ops[j])
			if err != nil {
				return fmt.Errorf("collection %q: %w", collection, err)
			}
			c.Fields = append(c.Fields, f)
		}
		e.Changes = append(e.Changes, c)
	}
	return nil
}

// fieldChange decodes an operation.
func fieldChange(name string, op *entry.Op) (f FieldChange, err error) {
	f = FieldChange{Field: name, Rule: ruleName(op.Kind)}
	decode := func(p []byte) record.Value {
		v, failed := value.Decode(p)
		err = errors.Join(err, failed)
		return v
	}
	switch op.Kind {
	case entry.OpSum:
		f.Value = op.Delta
	case entry.OpElements, entry.OpEntries:
		for _, item := range op.Removed {
			f.Removed = append(f.Removed, decode(item.Key))
		}
		for _, item := range op.Added {
			f.Added = append(f.Added, decode(item.Key))
			if op.Kind == entry.OpEntries {
				f.Values = append(f.Values, decode(item.Value))
			}
		}
	default:
		f.Value = decode(op.Value)
	}
	return f, err
}

// ruleName returns the word for a kind of operations.
func ruleName(k entry.OpKind) string {
	switch k {
	case entry.OpKeep:
		return "keep"
	case entry.OpSum:
		return "sum"
	case entry.OpMax:
		return "max"
	case entry.OpMin:
		return "min"
	case entry.OpElements:
		return "elements"
	case entry.OpEntries:
		return "entries"
	}
	return "set"
}
