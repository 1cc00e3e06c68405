package replica

import (
	"container/heap"
	"iter"

	"github.com/stoatdb/stoat/replica/internal/hlc"
)

// rest is what somebody lacks of a log.
type rest struct {
	*head
	seq  uint64 // the next entry that is lacking
	time hlc.Time
}

// rests is a heap of rests by the times of their next entries.
type rests []*rest

func (q rests) Len() int           { return len(q) }
func (q rests) Less(i, j int) bool { return q[i].time < q[j].time }
func (q rests) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *rests) Push(v any)        { *q = append(*q, v.(*rest)) }

func (q *rests) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// runsSince yields the sealed runs that somebody lacks who has a vector. They come by the times of
// their first entries, so mostly after what they follow.
func (t *txn) runsSince(since Vector) iter.Seq2[*run, error] {
	return func(yield func(*run, error) bool) {
		var queue rests
		for h, err := range t.eachHead() {
			q := &rest{head: h}
			if err == nil {
				q.seq = since[LogID(h.id)]
			}
			if err == nil && q.seq < h.sealed {
				err = t.look(q)
				queue = append(queue, q)
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		heap.Init(&queue)
		for len(queue) > 0 {
			q := queue[0]
			r, err := t.runFrom(q.head, q.seq)
			if !yield(r, err) || err != nil {
				return
			}
			if q.seq = r.end(); q.seq >= q.sealed {
				heap.Pop(&queue)
				continue
			}
			if err := t.look(q); err != nil {
				yield(nil, err)
				return
			}
			heap.Fix(&queue, 0)
		}
	}
}

// look finds the time of the next entry of a rest.
func (t *txn) look(q *rest) error {
	var err error
	q.time, err = t.timeOf(spot{q.number, q.seq})
	return err
}
