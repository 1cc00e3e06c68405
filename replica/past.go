package replica

import (
	"cmp"
	"container/heap"
	"errors"
	"slices"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/merge"
)

// past is what happened before an entry, itself included. It is a walk back from the entry along
// contexts, by descending time, that goes as far as it is asked to: what is sought has a time, and
// nothing that happened before it has a greater one.
//
// Every log has a stored vector now and then, and what a vector says need not be walked. So a walk
// takes at most the contexts between the entry and what is sought that no stored vector covers,
// each once, and memory in proportion to the number of logs. It is valid until its transaction
// changes the cut of a log.
type past struct {
	t     *txn
	first *frontier // the last one in the log of the entry, or nil
	logs  map[uint32]reach
	todo  byLateness
	steps int
}

// reach is how far a walk has come in a log.
type reach struct {
	count  uint64 // the number of entries that it has found
	whole  uint64 // the number of entries whose whole past it has found
	walked uint64 // one more than the least seq of the frontiers that it has walked; 0: none
	named  bool   // another log has named the last of its entries
}

// byLateness is a heap of frontiers whose first has the greatest time.
type byLateness []*frontier

func (q byLateness) Len() int           { return len(q) }
func (q byLateness) Less(i, j int) bool { return q[i].time > q[j].time }
func (q byLateness) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byLateness) Push(f any)        { *q = append(*q, f.(*frontier)) }

func (q *byLateness) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// pastOf returns the past of an entry.
func (t *txn) pastOf(at spot) (*past, error) {
	p := &past{t: t, logs: map[uint32]reach{}}
	last, err := t.lastContext(at.log, at.seq)
	if err == nil {
		err = p.reach(sight{at, last})
	}
	if err != nil {
		return nil, err
	}
	if len(p.todo) > 0 { // or else it has no context, or that was pruned
		p.first = p.todo[0]
	}
	return p, nil
}

// has reports whether an entry with the given time is in the past. Several entries are best asked
// for by descending time, though any order is right.
func (p *past) has(at spot, time hlc.Time) (bool, error) {
	known := p.steps == 0 && p.unseen(at)
	for !known && p.logs[at.log].count <= at.seq && len(p.todo) > 0 && p.todo[0].time > time {
		if err := p.step(); err != nil {
			return false, err
		}
	}
	if p.logs[at.log].count > at.seq {
		return true, nil
	}
	if p.first != nil {
		if p.t.unseen == nil || len(p.t.unseen) >= unseenMax {
			p.t.unseen = map[sought]uint64{}
		}
		p.t.unseen[sought{at, p.first.at.log}] = p.first.at.seq + 1
	}
	return false, nil
}

// unseenMax is the number of logs and entries that a transaction remembers not to have seen others.
const unseenMax = 1 << 16

// sought is an entry that was not found in the past of entries of a log.
type sought struct {
	spot
	in uint32
}

// unseen reports whether an entry is known to be missing in all pasts that make up this one.
// So the entries of a transaction, one after the other, do not walk the same way.
func (p *past) unseen(at spot) bool {
	f := p.first
	if f == nil || f.at.log == at.log || p.t.unseen[sought{at, f.at.log}] < f.before {
		return false
	}
	return !slices.ContainsFunc(f.heads, func(s sight) bool {
		s, err := p.t.named(s, f.time)
		return err != nil || s.log == at.log || p.t.unseen[sought{at, s.log}] < s.last
	})
}

// named returns the entry that counts as named where a context names one, which is the last one
// before the cut of a log if the context names one behind it. Nothing else decides that. The last
// one itself may have been of another branch when the context was stored: see takeBranch. By is the
// time of the entry with the context, which has not seen a checkpoint there with a later one.
func (t *txn) named(s sight, by hlc.Time) (sight, error) {
	h, err := t.head(s.log)
	if err != nil || h.cut == 0 || s.seq+1 < h.cut {
		return s, err
	}
	s.seq = h.cut - 1
	hz, err := t.horizonOf()
	if err != nil {
		return s, err
	}
	if hz != nil && hz.at == s.spot && s.seq < h.next {
		if time, err := t.timeOf(s.spot); err != nil {
			return s, err
		} else if time >= by {
			s.seq--
		}
	}
	s.last, err = t.lastContext(s.log, s.seq)
	return s, err
}

// reach adds an entry and what precedes it in its log.
func (p *past) reach(s sight) error {
	r := p.logs[s.log]
	if s.seq < r.count {
		if s.seq+1 == r.count {
			r.named = true
			p.logs[s.log] = r
		}
		return nil
	}
	r.count = s.seq + 1
	p.logs[s.log] = r
	return p.follow(s.log, s.last)
}

// follow plans to walk on from the last of so many entries of a log, which has a context.
func (p *past) follow(log uint32, last uint64) error {
	if last <= p.logs[log].whole {
		return nil
	}
	f, err := p.t.frontier(spot{log, last - 1})
	if errors.Is(err, ErrPruned) {
		return nil
	}
	if err == nil {
		heap.Push(&p.todo, f)
	}
	return err
}

// directSteps is the number of steps after which a walk looks at the last vector of its log, which
// tells it what was seen long ago.
const directSteps = 16

// step walks over one context.
func (p *past) step() error {
	f := heap.Pop(&p.todo).(*frontier)
	r := p.logs[f.at.log]
	if f.at.seq < r.whole || r.walked > 0 && f.at.seq >= r.walked-1 {
		return nil
	}
	r.walked = f.at.seq + 1
	p.logs[f.at.log] = r
	for _, s := range f.heads {
		s, err := p.t.named(s, f.time)
		if err == nil {
			err = p.reach(s)
		}
		if err != nil {
			return err
		}
	}
	if f.vector == f.at.seq+1 {
		if err := p.addVector(f); err != nil {
			return err
		}
	}
	if p.steps++; p.steps == directSteps && p.first != nil {
		if err := p.addVector(p.first); err != nil {
			return err
		}
	}
	return p.follow(f.at.log, f.before)
}

// addVector adds the last vector of the log of a frontier, if it has one.
func (p *past) addVector(f *frontier) error {
	if f.vector == 0 {
		return nil
	}
	at := spot{f.at.log, f.vector - 1}
	_, err := p.t.eachInVector(at, func(log uint32, count uint64) {
		r := p.logs[log]
		r.named = r.named || count == r.count && log != at.log
		r.count, r.whole = max(r.count, count), max(r.whole, count)
		p.logs[log] = r
	})
	return err
}

// last returns the number of the last entry that counts.
func (h *head) last() uint64 {
	if h.cut > 0 {
		return min(h.cut, h.next) - 1
	}
	return h.next - 1
}

// implied returns which of some heads have happened before others of them. It is one walk back from
// all of them, to the time of the oldest head that is not implied. Contexts may name more heads
// than they need to, so the walk ends when it has cost more than naming them all.
func (t *txn) implied(heads []*head) (func(*head) bool, error) {
	p := &past{t: t, logs: map[uint32]reach{}}
	implied := func(h *head) bool { return p.logs[h.number].named }
	if len(heads) == 1 {
		return implied, nil
	}
	for _, h := range heads {
		last, err := t.lastContext(h.number, h.last())
		if err == nil {
			err = p.reach(sight{spot{h.number, h.last()}, last})
		}
		if err != nil {
			return nil, err
		}
	}
	oldest := slices.SortedFunc(slices.Values(heads), func(a, b *head) int {
		return cmp.Compare(a.time, b.time)
	})
	for most := 1024 + 16*len(heads); p.steps < most && len(p.todo) > 0; {
		for len(oldest) > 0 && implied(oldest[0]) {
			oldest = oldest[1:]
		}
		if len(oldest) == 0 || p.todo[0].time <= oldest[0].time {
			break
		}
		if err := p.step(); err != nil {
			return nil, err
		}
	}
	return implied, nil
}

// order is what the rules of merging ask about one entry.
type order struct {
	t    *txn
	at   spot
	own  bool // the entry has seen everything
	past *past
	err  error // of a lookup; the merge is not valid then
}

// ID returns the id of a log.
func (o *order) ID(log uint32) (id entry.Hash) {
	h, err := o.t.head(log)
	if err != nil {
		o.err = err
		return id
	}
	return h.id
}

// Seen reports whether the entry comes after the one of a stamp.
func (o *order) Seen(s merge.Stamp) (seen bool) {
	if o.own || s.Log == o.at.log || s == (merge.Stamp{}) {
		return true
	}
	if o.past == nil && o.err == nil {
		o.past, o.err = o.t.pastOf(o.at)
	}
	if o.err == nil {
		seen, o.err = o.past.has(spot{s.Log, s.Seq}, s.Time)
	}
	return seen
}
