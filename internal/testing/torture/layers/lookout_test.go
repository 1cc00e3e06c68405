package layers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

// lookout is a live query beside a workload, in a goroutine of its own.
type lookout struct {
	question
	newest atomic.Pointer[sighting]
	told   chan struct{} // something is new
	ended  chan struct{} // closed when the loop has ended
	err    error         // why it has, unless it was to
	broken bool          // by a failing read, which is not its fault
}

// sighting is the result of a live query. It is immutable.
type sighting struct {
	at   stoat.Position
	rows map[int64]person
}

func newLookout(q question) *lookout {
	return &lookout{question: q, told: make(chan struct{}, 1), ended: make(chan struct{})}
}

// run follows the answer to the question until ctx ends, or the database or the collection is not
// what it was.
func (l *lookout) run(ctx context.Context, db *stoat.DB, c shelf) {
	defer close(l.ended)
	rows := map[int64]person{}
	for n, err := range c.watch(ctx, db, l.question) {
		if err == nil {
			err = learn(rows, n)
		}
		switch {
		case err == nil:
			l.newest.Store(&sighting{n.at, maps.Clone(rows)})
			select {
			case l.told <- struct{}{}:
			default:
			}
			continue
		case isFault(err):
			l.broken = true
		case !errors.Is(err, context.Canceled) && !errors.Is(err, record.ErrOutdated):
			l.err = fmt.Errorf("live query %s: %w", l.name, err)
		}
		return
	}
}

// learn makes rows what the news say, which must fit.
func learn(rows map[int64]person, n news) error {
	for _, p := range n.removed {
		if old, ok := rows[p.ID]; !ok || !samePerson(old, p) {
			return fmt.Errorf("%+v is removed, and what was told is %+v", p, old)
		}
		delete(rows, p.ID)
	}
	for _, p := range n.changed {
		if old, ok := rows[p.ID]; !ok || samePerson(old, p) {
			return fmt.Errorf("%+v is changed, and what was told is %+v", p, old)
		}
		rows[p.ID] = p
	}
	for _, p := range n.added {
		if old, ok := rows[p.ID]; ok {
			return fmt.Errorf("%+v is added, and what was told is %+v", p, old)
		}
		rows[p.ID] = p
	}
	return nil
}

// sees reports whether a result is the answer in a state.
func (s *sighting) sees(q question, m *people) bool {
	want := m.answer(q)
	return len(want) == len(s.rows) && !slices.ContainsFunc(want, func(p person) bool {
		got, ok := s.rows[p.ID]
		return !ok || !samePerson(got, p)
	})
}

// patience is how long a loop may take to tell what has happened, on the busiest machine.
const patience = 30 * time.Second

// reaches waits until the result is the answer in a state.
func (l *lookout) reaches(m *people) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		if s := l.newest.Load(); s != nil && s.sees(l.question, m) {
			return nil
		}
		select {
		case <-l.told:
		case <-l.ended:
			return l.early()
		case <-deadline.C:
			return fmt.Errorf("live query %s does not tell what there is", l.name)
		}
	}
}

// early returns the error of a loop that has ended before it was to, unless a read has failed.
func (l *lookout) early() error {
	if l.err == nil && !l.broken {
		return fmt.Errorf("live query %s has ended early", l.name)
	}
	return l.err
}

// begins waits for the first result, which must be the answer in a state.
func (l *lookout) begins(m *people) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	select {
	case <-l.told:
		if s := l.newest.Load(); !s.sees(l.question, m) {
			return fmt.Errorf("live query %s begins with %d records, want %d, or they are others",
				l.name, len(s.rows), len(m.answer(l.question)))
		}
	case <-l.ended:
		return l.early()
	case <-deadline.C:
		return fmt.Errorf("live query %s does not begin", l.name)
	}
	return nil
}

// bears returns an error unless the states have the result, and the database has not lost it if
// that is durable.
func (s *sighting) bears(
	q question, db *stoat.DB, states []*people, found int, durable bool,
) error {
	first := slices.IndexFunc(states, func(m *people) bool { return s.sees(q, m) })
	switch at := db.Position(); {
	case first < 0:
		return fmt.Errorf("live query %s has told %d records, which is no state", q.name,
			len(s.rows))
	case durable && first > found:
		return fmt.Errorf("live query %s has told state %d, and state %d was found", q.name, first,
			found)
	case durable && at < s.at:
		return fmt.Errorf("live query %s has told position %d, and the newest is %d", q.name, s.at,
			at)
	}
	return nil
}
