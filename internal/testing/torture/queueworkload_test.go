package torture

import (
	"errors"
	"fmt"
	"strings"

	"github.com/stoatdb/stoat"
)

// queues appends keys to two queues and takes others out at the front or the end, searching for
// them each time. Some expire first.
func queues(r *runner) error {
	p := r.generator()
	next := 0
	return times(45, func(i int) error {
		err := r.update(func(t twin) error {
			err := times(p.rng.IntN(4), func(int) error {
				next++
				key := fmt.Sprintf("%d/%04d", next%2, next)
				if p.chance(4) {
					return t.putTTL(key, "expires", p.ttl())
				}
				return t.put(key, strings.Repeat("task", p.rng.IntN(20)))
			})
			return errors.Join(err, times(p.rng.IntN(4), func(int) error {
				return takeOut(t, stoat.Range{Reverse: p.chance(3), Limit: 1}, p.rng.IntN(3))
			}))
		})
		p.wait()
		err = errors.Join(err, every(7, i, r.flush), every(9, i, r.sync), every(21, i, r.reopen))
		return errors.Join(err, every(5, i, func() error {
			return r.abort(func(t twin) error { return takeOut(t, stoat.Range{Limit: 1}, 2) })
		}))
	})
}

// takeOut deletes the first key of a range in queue 0 or 1, or in both if queue is 2.
func takeOut(t twin, r stoat.Range, queue int) error {
	if queue < 2 {
		prefix := stoat.Prefix(fmt.Append(nil, queue, "/"))
		r.Start, r.End = prefix.Start, prefix.End
	}
	if err := t.scan(r, func() error { return nil }); err != nil {
		return err
	}
	for _, e := range t.ref.b.Scan(string(r.Start), string(r.End), r.Reverse, 1) {
		return t.delete(e.Key)
	}
	return nil
}
