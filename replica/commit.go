package replica

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// commit makes the entry of the transaction. Functions that were given to BeforeCommit later may
// still write, so it lets them run first.
func (t *txn) commit() error {
	if t.pending.phase == phaseOpen {
		t.pending.phase = phaseAsked
		return t.tx.BeforeCommit(t.commit)
	}
	t.pending.phase = phaseWritten
	defer t.release()
	return wrap(t.space.name, t.write())
}

// write turns the changes of the transaction into an entry.
func (t *txn) write() error {
	next, err := t.nextOwn()
	if err != nil {
		return err
	}
	e := &entry.Entry{Kind: entry.KindData}
	if e.Parts, err = t.parts(next.at); err != nil || len(e.Parts) == 0 {
		return err
	}
	if len(e.Parts) > entry.PartsMax {
		return fmt.Errorf("the transaction changes %d collections, and an entry has at most %d: use "+
			"several (%w)", len(e.Parts), entry.PartsMax, stoat.ErrTooLarge)
	}
	if err := t.mayWrite(next, e); err != nil {
		return err
	}
	if err := t.issue(next, e); err != nil {
		return err
	}
	return t.sealAtOnce(next)
}

// nextEntry is where the next entry of the own log goes. Entries of context alone come before it if
// more is new than one context holds.
type nextEntry struct {
	at     merge.Stamp
	log    head // before all of them; a copy, since what follows may fail
	heads  []entry.Head
	before int // entries of context alone
}

// nextOwn returns where the next own entry goes.
func (t *txn) nextOwn() (*nextEntry, error) {
	h, err := t.signingHead()
	if err != nil {
		return nil, err
	}
	heads, err := t.newlySeen()
	if err != nil {
		return nil, err
	}
	n := &nextEntry{log: *h, heads: heads, before: max(0, len(heads)-1) / entry.ContextMax}
	latest, err := t.latest()
	if err != nil {
		return nil, err
	}
	first, err := hlc.Next(max(h.time, latest), t.space.time())
	n.at = merge.Stamp{Time: first + hlc.Time(n.before), Log: h.number,
		Seq: h.next + uint64(n.before)}
	return n, err
}

// issue appends an entry to the own log, and sets its time and context. If it fails, the
// transaction cannot be committed.
func (t *txn) issue(next *nextEntry, e *entry.Entry) error {
	t.issued++
	return t.spoil(t.appendIssued(next, e))
}

// appendIssued appends the contexts that do not fit into an entry, and the entry. After an error,
// some of them may be there.
func (t *txn) appendIssued(next *nextEntry, e *entry.Entry) error {
	own, heads := next.log, next.heads
	for i := range next.before {
		context := &entry.Entry{Time: next.at.Time - hlc.Time(next.before-i), Kind: entry.KindContext}
		context.Context, heads = heads[:entry.ContextMax], heads[entry.ContextMax:]
		if err := t.add(&own, context); err != nil {
			return err
		}
	}
	e.Time, e.Context = next.at.Time, heads
	if len(heads) > 0 {
		t.unseenNoted = 0
		err := t.meta.DeleteRange(stoat.Prefix([]byte(prefixUnseen)))
		if err = errors.Join(err, t.setFlag(hasUnseen, false)); err != nil {
			return err
		}
		if err := t.meta.Delete([]byte(keyOwed)); err != nil {
			return err
		}
	}
	if err := t.add(&own, e); err != nil {
		return err
	}
	return t.decide()
}

// add appends an entry to the own log.
func (t *txn) add(own *head, e *entry.Entry) (err error) {
	if len(e.Context) > 0 {
		if e.Digest, err = t.digest(e.Context); err != nil {
			return err
		}
	}
	stored := e.Append(t.working().room(e.Room()))
	t.space.mu.Lock()
	limit := t.space.entryMax
	t.space.mu.Unlock()
	if len(stored) > limit {
		return fmt.Errorf("the transaction changes %d bytes, and the space allows %d: use several (%w)",
			len(stored), limit, stoat.ErrTooLarge)
	}
	at := entry.Place{Space: t.space.id, Log: own.id, Seq: own.next, Prev: own.hash}
	return t.append(own, e, stored, e.Hash(&at))
}

// spoil keeps the transaction from being committed, if a call has failed after it has written some
// of what it does, whatever the caller does about the error.
func (t *txn) spoil(err error) error {
	if err == nil {
		return nil
	}
	failed := wrap(t.space.name, err)
	_ = t.tx.BeforeCommit(func() error { return failed }) // or it cannot be committed anyway
	return err
}

// allOrNone runs a call that may make several entries. If it fails behind the first one, the
// transaction cannot be committed.
func (t *txn) allOrNone(call func() error) error {
	before := t.issued
	err := call()
	if t.issued > before {
		err = t.spoil(err)
	}
	return err
}

// digest returns the digest of a context whose entries are known.
func (t *txn) digest(heads []entry.Head) (d entry.Hash, err error) {
	hashes := make([]entry.Hash, len(heads))
	for i, h := range heads {
		log, ok, err := t.logNumber(h.Log)
		if err == nil && !ok {
			err = invalid("a context names the unknown log %s", h.Log)
		}
		if err != nil {
			return d, err
		}
		if hashes[i], err = t.hashOf(log, h.Seq); err != nil {
			return d, err
		}
	}
	return entry.ContextDigest(hashes), nil
}

// putUnseen notes that a log has grown since the own one did.
func (t *txn) putUnseen(log uint32) error {
	if t.unseenNoted == log {
		return nil
	}
	t.unseenNoted = log
	err := t.meta.Put(keyed(nil, prefixUnseen, log), nil)
	return errors.Join(err, t.setFlag(hasUnseen, true))
}

// newlySeen returns the heads that have grown since the own log did, except those that others
// imply.
func (t *txn) newlySeen() ([]entry.Head, error) {
	if has, err := t.has(hasUnseen); err != nil || !has {
		return nil, err
	}
	var grown []*head
	for key := range t.meta.Keys(stoat.Prefix([]byte(prefixUnseen))) {
		h, err := t.head(binary.BigEndian.Uint32(key[len(prefixUnseen):]))
		if err != nil {
			return nil, err
		}
		grown = append(grown, h)
	}
	if err := t.tx.Err(); err != nil || len(grown) == 0 {
		return nil, err
	}
	implied, err := t.implied(grown)
	if err != nil {
		return nil, err
	}
	var heads []entry.Head
	for _, h := range grown {
		if !implied(h) {
			heads = append(heads, entry.Head{Log: h.id, Seq: h.last()})
		}
	}
	slices.SortFunc(heads, func(a, b entry.Head) int { return bytes.Compare(a.Log[:], b.Log[:]) })
	return heads, nil
}

// parts returns what the transaction did, by collection, and saves the states that follow.
func (t *txn) parts(at merge.Stamp) ([]entry.Part, error) {
	touched := t.pending.touched
	slices.SortFunc(touched, func(a, b *touch) int {
		if a.c != b.c {
			return strings.Compare(a.c.name, b.c.name)
		}
		return bytes.Compare(a.key, b.key)
	})
	var parts []entry.Part
	for len(touched) > 0 {
		c := touched[0].c
		n := slices.IndexFunc(touched, func(r *touch) bool { return r.c != c })
		if n < 0 {
			n = len(touched)
		}
		changes, err := t.changes(c, touched[:n], at)
		if err != nil {
			return nil, fmt.Errorf("collection %q: %w", c.name, err)
		}
		if len(changes.Records) > 0 {
			if changes.Salt, err = t.salt(); err != nil {
				return nil, err
			}
			data := changes.Append(t.working().room(changes.Room()))
			parts = append(parts, entry.Part{Group: c.name, Data: data})
		}
		touched = touched[n:]
	}
	return parts, nil
}

// salt returns the salt of new changes: none as long as all who know their hash may read them.
func (t *txn) salt() ([]byte, error) {
	v, err := t.rights()
	if err != nil || !v.tree.Narrow() {
		return nil, err
	}
	salt := make([]byte, entry.SaltSize)
	_, err = io.ReadFull(t.space.random, salt)
	return salt, err
}

// changes returns what the transaction did to the records of a collection.
func (t *txn) changes(c *collection, touched []*touch, at merge.Stamp) (*entry.Changes, error) {
	changes := &entry.Changes{Records: make([]entry.Record, 0, len(touched))}
	numbers := make([]int, len(c.columns)) // of the fields that are used, from 1
	for _, record := range touched {
		stored, err := t.find(c, record.key)
		if err != nil {
			return nil, err
		}
		if bytes.Equal(stored, record.old) && (stored == nil) == (record.old == nil) &&
			len(record.keep) == 0 {
			continue
		}
		change, err := t.change(record, stored, at)
		if err != nil {
			return nil, err
		}
		for i := range change.Ops {
			numbers[change.Ops[i].Field] = 1
		}
		changes.Records = append(changes.Records, change)
	}
	changes.Fields = make([]string, 0, len(c.columns))
	for i := range c.columns {
		if numbers[i] > 0 {
			changes.Fields = append(changes.Fields, c.columns[i].name)
			numbers[i] = len(changes.Fields)
		}
	}
	for i := range changes.Records {
		for j := range changes.Records[i].Ops {
			op := &changes.Records[i].Ops[j]
			op.Field = numbers[op.Field] - 1
		}
	}
	return changes, nil
}

// change returns what the transaction did to a record, and saves the state that follows. Op.Field
// is the number of the column.
func (t *txn) change(record *touch, stored []byte, at merge.Stamp) (entry.Record, error) {
	change := entry.Record{Key: record.key, Delete: stored == nil}
	s, err := t.borrow(record.c, record.key, record.old)
	if err != nil {
		return change, err
	}
	m := t.working()
	to := &m.now
	if err := to.read(record.c, stored, m.room(roomOf(stored))); err != nil {
		return change, err
	}
	if stored != nil {
		change.Ops = s.settle(s.diff(to), record.keep)
	}
	if err := s.keepBase(); err != nil {
		return change, err
	}
	o := &order{t: t, at: spot{at.Log, at.Seq}, own: true}
	s.record.Apply(&change, record.c.names, at, o)
	if err := errors.Join(to.err, s.row.err, o.err); err != nil {
		return change, err
	}
	if s.shows(change.Ops, to) {
		return change, s.save(to)
	}
	s.row = to
	return change, s.show()
}

// shows reports whether a record shows the state. A maximum may be greater than what was written,
// and the elements of a set are sorted; what is set is always what was written.
func (s *state) shows(ops []entry.Op, to *row) bool {
	if to.schema == nil {
		return true
	}
	if to.schema != s.c.current {
		return false
	}
	for i := range s.c.columns {
		c := &s.c.columns[i]
		if c.kind == entry.OpSet || c.kind == entry.OpKeep {
			continue
		}
		shown := visible(s.record, c)
		if c.kind == entry.OpSum && shown != nil {
			shown = c.fit(shown)
		}
		if v := to.value(to.schema.columns[i]); shown != nil && !bytes.Equal(shown, v) {
			return false
		}
	}
	return true
}

// settle adds operations that assert the values of fields as they are, so that they replace those
// that were written concurrently.
func (s *state) settle(ops []entry.Op, names []string) []entry.Op {
	for _, name := range names {
		for i := range s.c.columns {
			c := &s.c.columns[i]
			has := slices.ContainsFunc(ops, func(op entry.Op) bool { return op.Field == i })
			if c.name != name || has || c.kind != entry.OpSet && c.kind != entry.OpKeep {
				continue
			}
			if v := visible(s.record, c); v != nil { // else a checkpoint has forgotten the field
				ops = append(ops, entry.Op{Field: i, Kind: c.kind, Value: v})
			}
		}
	}
	slices.SortFunc(ops, func(a, b entry.Op) int { return a.Field - b.Field })
	return ops
}
