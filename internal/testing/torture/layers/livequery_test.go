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

// liveQuery runs a live query in a goroutine of its own.
type liveQuery struct {
	recordQuery
	newest atomic.Pointer[liveResult]
	told   chan struct{} // there is something new
	ended  chan struct{} // closed when the loop ends
	err    error         // why, unless that was expected
	broken bool          // by an injected fault
}

// liveResult is the result of a live query. Immutable.
type liveResult struct {
	at   stoat.Position
	rows map[int64]person
}

func newLiveQuery(q recordQuery) *liveQuery {
	return &liveQuery{recordQuery: q, told: make(chan struct{}, 1), ended: make(chan struct{})}
}

// run follows the result of the query until ctx ends, or the database closes, or the collection is
// outdated.
func (l *liveQuery) run(ctx context.Context, db *stoat.DB, c anyCollection) {
	defer close(l.ended)
	rows := map[int64]person{}
	for n, err := range c.watch(ctx, db, l.recordQuery) {
		if err == nil {
			err = learn(rows, n)
		}
		switch {
		case err == nil:
			l.newest.Store(&liveResult{n.at, maps.Clone(rows)})
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

// learn applies a change to rows, which it must fit.
func learn(rows map[int64]person, n change) error {
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

// sees reports whether the result is right for a state.
func (s *liveResult) sees(q recordQuery, m *collectionModel) bool {
	want := m.answer(q)
	return len(want) == len(s.rows) && !slices.ContainsFunc(want, func(p person) bool {
		got, ok := s.rows[p.ID]
		return !ok || !samePerson(got, p)
	})
}

// loopTimeout is how long a loop may take to catch up on the slowest machine.
const loopTimeout = 30 * time.Second

// reaches waits until the result is right for a state.
func (l *liveQuery) reaches(m *collectionModel) error {
	deadline := time.NewTimer(loopTimeout)
	defer deadline.Stop()
	for {
		if s := l.newest.Load(); s != nil && s.sees(l.recordQuery, m) {
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

// early returns the error of a loop that ended too early, unless a read failed on purpose.
func (l *liveQuery) early() error {
	if l.err == nil && !l.broken {
		return fmt.Errorf("live query %s has ended early", l.name)
	}
	return l.err
}

// begins waits for the first result, which must be right for a state.
func (l *liveQuery) begins(m *collectionModel) error {
	deadline := time.NewTimer(loopTimeout)
	defer deadline.Stop()
	select {
	case <-l.told:
		if s := l.newest.Load(); !s.sees(l.recordQuery, m) {
			return fmt.Errorf("live query %s begins with %d records, want %d, or they are others",
				l.name, len(s.rows), len(m.answer(l.recordQuery)))
		}
	case <-l.ended:
		return l.early()
	case <-deadline.C:
		return fmt.Errorf("live query %s does not begin", l.name)
	}
	return nil
}

// bears checks that the result is right for one of the states, and that the database has not lost
// it if it was durable.
func (s *liveResult) bears(
	q recordQuery, db *stoat.DB, states []*collectionModel, found int, durable bool,
) error {
	first := slices.IndexFunc(states, func(m *collectionModel) bool { return s.sees(q, m) })
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
