package model

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// level is a checkpoint that is decided.
type level struct {
	*Fact
	act    *entry.Checkpoint
	hash   entry.Hash
	voters map[[32]byte]bool
	may    bool // its author had the right to make it
}

// covers reports whether the checkpoint covers an entry.
func (l *level) covers(log entry.Hash, seq uint64) bool {
	for i := range l.act.Logs {
		if l.act.Logs[i].Log == log {
			return seq < l.act.Logs[i].Count
		}
	}
	return false
}

// levels returns the checkpoints that are decided, the first one first.
func (r *Rights) levels(facts []Fact) (all []level) {
	var before entry.Hash
	for {
		var next *level
		for i := range facts {
			f := &facts[i]
			act := r.acts[id{f.Log, f.Seq}]
			if act == nil || act.Checkpoint == nil || act.Checkpoint.Before != before {
				continue
			}
			if r.decided(facts, f) && (next == nil || precedesInTime(f, next.Fact)) {
				next = r.level(facts, f)
			}
		}
		if next == nil {
			return all
		}
		all = append(all, *next)
		before = next.hash
	}
}

// level returns a checkpoint as one that may be decided.
func (r *Rights) level(facts []Fact, f *Fact) *level {
	at := id{f.Log, f.Seq}
	past := pastOf(facts, f)
	then := r.within(func(at id) bool { return past[at] })
	l := &level{f, r.acts[at].Checkpoint, f.Hash, then.voters(facts, f, past), false}
	roots := 0
	for device := range l.voters {
		if then.isRoot(device) {
			roots++
		}
	}
	l.may = r.root(f.Log) && roots >= int(r.about.Quorum)
	for g, act := range then.acts {
		l.may = l.may || act.Grant != nil && act.Grant.Right&entry.RightCheckpoint != 0 && then.has(at, g)
	}
	return l
}

// voters returns the devices that have a say in a checkpoint: roots and those with the right to
// make checkpoints that have entries which its author had seen and that are not too old, and its
// author.
func (r *Rights) voters(facts []Fact, c *Fact, past map[id]bool) map[[32]byte]bool {
	all := map[[32]byte]bool{r.device[c.Log]: true}
	for i := range facts {
		f := &facts[i]
		age := c.Entry.Time.Time().Sub(f.Entry.Time.Time())
		device := r.device[f.Log]
		if f.Seq > 0 && past[id{f.Log, f.Seq}] && age < 90*24*time.Hour && r.votes(device) {
			all[device] = true
		}
	}
	return all
}

// votes reports whether a device is a root, or has the right to make checkpoints.
func (r *Rights) votes(device [32]byte) bool {
	if r.isRoot(device) {
		return true
	}
	for g, act := range r.acts {
		if act.Grant != nil && !act.Grant.To.Anyone && act.Grant.To.Device == device &&
			act.Grant.Right&entry.RightCheckpoint != 0 &&
			r.Holds(Fact{Log: g.log, Seq: g.seq}) && !r.revoked(g) {
			return true
		}
	}
	return false
}

// revoked reports whether a grant is revoked.
func (r *Rights) revoked(grant id) bool {
	for by, act := range r.acts {
		if act.Revoke != nil && idOf(act.Revoke.Grant) == grant &&
			r.Holds(Fact{Log: by.log, Seq: by.seq}) {
			return true
		}
	}
	return false
}

// decided reports whether all who have a say agree to a valid checkpoint.
func (r *Rights) decided(facts []Fact, c *Fact) bool {
	l := r.level(facts, c)
	for device := range l.voters {
		by := r.firstOf(facts, c, device)
		if by == nil || !r.agrees(facts, c, by) {
			return false
		}
	}
	return l.may
}

// firstOf returns the first entry of a device that has seen a checkpoint, or is it.
func (r *Rights) firstOf(facts []Fact, c *Fact, device [32]byte) (first *Fact) {
	for i := range facts {
		f := &facts[i]
		seen := f == c || pastOf(facts, f)[id{c.Log, c.Seq}]
		if seen && r.device[f.Log] == device && (first == nil || precedesInTime(f, first)) {
			first = f
		}
	}
	return first
}

func precedesInTime(a, b *Fact) bool {
	x, y := did{Fact: a}, did{Fact: b}
	return x.before(&y) < 0
}

// agrees reports whether an entry with which a device votes about a checkpoint is for it: whether
// the device votes about no other checkpoint that follows the same one and that can still be
// decided, before or, if that one has a lesser time or log, at once.
func (r *Rights) agrees(facts []Fact, c, by *Fact) bool {
	device, past := r.device[by.Log], pastOf(facts, by)
	for i := range facts {
		rival := &facts[i]
		if rival == c || !past[id{rival.Log, rival.Seq}] && rival != by || !rivals(c, rival) {
			continue
		}
		l := r.level(facts, rival)
		if !l.voters[device] || !l.may || r.refused(facts, l, by) {
			continue
		}
		if r.firstOf(facts, rival, device) != by || precedesInTime(rival, c) {
			return false
		}
	}
	return true
}

// rivals reports whether two checkpoints follow the same one.
func rivals(c, other *Fact) bool {
	if other.Entry.Kind != entry.KindControl {
		return false
	}
	a, err := entry.ParseAct(c.Entry)
	b, failed := entry.ParseAct(other.Entry)
	return err == nil && failed == nil && b.Checkpoint != nil &&
		a.Checkpoint.Before == b.Checkpoint.Before
}

// refused reports whether an entry has seen a vote against a checkpoint.
func (r *Rights) refused(facts []Fact, l *level, to *Fact) bool {
	past := pastOf(facts, to)
	for device := range l.voters {
		by := r.firstOf(facts, l.Fact, device)
		if by != nil && by != to && past[id{by.Log, by.Seq}] && !r.agrees(facts, l.Fact, by) {
			return true
		}
	}
	return false
}

// lates returns, for each log, the first data entry that is late.
func lates(facts []Fact, all []level) map[entry.Hash]uint64 {
	late := map[entry.Hash]uint64{}
	for i := range all {
		first := map[entry.Hash]*Fact{} // data behind the checkpoint
		for j := range facts {
			f := &facts[j]
			if f.Entry.Kind != entry.KindData || all[i].covers(f.Log, f.Seq) {
				continue
			}
			if first[f.Log] == nil || f.Seq < first[f.Log].Seq {
				first[f.Log] = f
			}
		}
		for log, f := range first {
			past := pastOf(facts, f)
			for _, l := range all[i].act.Logs {
				if _, known := late[log]; !known && l.Log != log && !past[id{l.Log, l.Count - 1}] {
					late[log] = f.Seq
				}
			}
		}
	}
	return late
}

// ghost is the entry of everything that a checkpoint covers: all others have seen it. It is
// immutable.
var ghost = &Fact{Entry: &entry.Entry{}}

// normal returns changes that lead to the state of a record behind a checkpoint: without times,
// and without what lost.
func normal(all []named) (base []named) {
	edits, everything, ops := grouped(all)
	alive := len(survivors(edits, everything)) > 0
	add := func(fields []string, op ...entry.Op) {
		d := did{Fact: ghost, past: map[id]bool{}, change: &entry.Record{Ops: op}, bare: len(op) > 0}
		base = append(base, named{d, fields})
	}
	if alive {
		add(nil)
	}
	for f, ops := range ops {
		for _, op := range f.normal(ops) {
			if alive || f.kind == entry.OpSum {
				add([]string{f.name}, op)
			}
		}
	}
	return base
}

// normal returns operations that lead to the state of a field.
func (f field) normal(ops []did) (all []entry.Op) {
	op := entry.Op{Kind: f.kind}
	switch f.kind {
	case entry.OpSet:
		left := survivors(ops, ops)
		op.Value = left[len(left)-1].op.Value
	case entry.OpKeep:
		for _, d := range survivors(ops, ops) {
			all = append(all, entry.Op{Kind: f.kind, Value: d.op.Value})
		}
		return all
	case entry.OpSum:
		for _, d := range ops {
			op.Delta += d.op.Delta
		}
	case entry.OpMax, entry.OpMin:
		op.Value = ops[0].op.Value
		for _, d := range ops {
			if bytes.Compare(d.op.Value, op.Value) > 0 == (f.kind == entry.OpMax) {
				op.Value = d.op.Value
			}
		}
	default:
		added, touched := byItem(ops)
		for key := range added {
			if left := survivors(added[key], touched[key]); len(left) > 0 {
				op.Added = append(op.Added, *left[len(left)-1].item)
			}
		}
		if len(op.Added) == 0 {
			return nil
		}
	}
	return []entry.Op{op}
}

// since returns what was done to each record, given the checkpoints.
func since(facts []Fact, all []level, late map[entry.Hash]uint64) (state, error) {
	done := state{}
	var last *level
	if len(all) > 0 {
		last = &all[len(all)-1]
		inside := slices.DeleteFunc(slices.Clone(facts), func(f Fact) bool {
			return !last.covers(f.Log, f.Seq)
		})
		before, err := since(inside, all[:len(all)-1], late)
		if err != nil {
			return nil, err
		}
		for collection, records := range before {
			done[collection] = map[string][]named{}
			for key, changes := range records {
				done[collection][key] = normal(changes)
			}
		}
	}
	for i := range facts {
		f := &facts[i]
		from, ok := late[f.Log]
		if !ok {
			from = math.MaxUint64
		}
		if f.Entry.Kind != entry.KindData || last != nil && last.covers(f.Log, f.Seq) || f.Seq >= from {
			continue
		}
		if err := done.add(facts, f, last != nil); err != nil {
			return nil, err
		}
	}
	return done, nil
}
