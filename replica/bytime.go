package replica

import "github.com/stoatdb/stoat/replica/internal/hlc"

// byTime is a heap of runs by the times of their next entries.
type byTime []*verified

func (q byTime) Len() int           { return len(q) }
func (q byTime) Less(i, j int) bool { return q[i].time() < q[j].time() }
func (q byTime) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byTime) Push(v any)        { *q = append(*q, v.(*verified)) }

func (q *byTime) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// time returns the time of the next entry to be merged.
func (v *verified) time() hlc.Time { return v.parsed[v.done].Time }
