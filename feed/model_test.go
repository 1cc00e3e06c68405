package feed_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// modelEntry is an entry as it should be.
type modelEntry struct {
	post     post
	at       time.Time
	redacted bool
}

// model is a feed as plain slices.
type model struct {
	entries []modelEntry // those that were removed, too
	first   int
}

func (m *model) clone() *model { return &model{slices.Clone(m.entries), m.first} }

// player plays random operations on a feed and a model.
type player struct {
	t     *testing.T
	r     *rand.Rand
	dir   string
	db    *stoat.DB
	feed  *feed.Feed[post]
	clock *clock
	model *model
}

func (p *player) open() {
	var err error
	p.db, err = stoat.Open(p.dir, &stoat.Options{Sync: stoat.SyncNever})
	ok(p.t, err)
	p.feed = open(p.t, p.db, &feed.Options[post]{Sublogs: sublogs(), Now: p.clock.Now})
}

func (p *player) draw() post {
	one := post{Author: fmt.Sprint("author ", p.r.IntN(3)), Text: fmt.Sprint(p.r.Uint64())}
	for range p.r.IntN(3) {
		one.Tags = append(one.Tags, fmt.Sprint("tag ", p.r.IntN(4)))
	}
	return one
}

// write does something in a transaction.
func (p *player) write(tx *stoat.Tx) {
	m := p.model
	switch p.r.IntN(10) {
	default:
		for range 1 + p.r.IntN(200) {
			p.clock.now = p.clock.now.Add(time.Duration(p.r.IntN(3)) * time.Millisecond)
			one := p.draw()
			seq, err := p.feed.Append(tx, &one)
			ok(p.t, err)
			equal(p.t, seq, uint64(len(m.entries)))
			m.entries = append(m.entries, modelEntry{post: one, at: p.clock.now})
		}
	case 0, 1, 2:
		for range p.r.IntN(20) {
			seq := p.r.IntN(len(m.entries) + 1)
			err := p.feed.Redact(tx, uint64(seq))
			switch {
			case seq == len(m.entries):
				wantErr(p.t, err, stoat.ErrNotFound)
			case seq < m.first:
				wantErr(p.t, err, feed.ErrExpired)
			default:
				ok(p.t, err)
				m.entries[seq].redacted = true
			}
		}
	case 3:
		if kept := len(m.entries) - m.first; kept > 0 {
			keep := 1 + p.r.IntN(kept)
			ok(p.t, p.feed.Retain(tx, feed.Retention{Count: int64(keep)}))
			m.first = len(m.entries) - keep
		}
	case 4:
		age := time.Duration(p.r.IntN(2000)+1) * time.Millisecond
		ok(p.t, p.feed.Retain(tx, feed.Retention{Age: age}))
		for m.first < len(m.entries) && p.clock.now.Sub(m.entries[m.first].at) > age {
			m.first++
		}
	}
}

// step plays a transaction, which may be rolled back, and may then open the database anew.
func (p *player) step() {
	before := p.model.clone()
	errBack := errors.New("back")
	err := p.db.Update(func(tx *stoat.Tx) error {
		for range 1 + p.r.IntN(3) {
			p.write(tx)
			if p.r.IntN(3) == 0 {
				p.check(tx)
			}
		}
		if p.r.IntN(4) == 0 {
			p.model = before
			return errBack
		}
		return nil
	})
	if !errors.Is(err, errBack) {
		ok(p.t, err)
	}
	if p.r.IntN(6) == 0 {
		ok(p.t, p.db.Close())
		p.open()
	}
}

// check wants a random query to find what the model has.
func (p *player) check(tx *stoat.Tx) {
	p.t.Helper()
	n := uint64(len(p.model.entries))
	length, err := p.feed.Len(tx)
	ok(p.t, err)
	equal(p.t, length, n)
	first, err := p.feed.First(tx)
	ok(p.t, err)
	equal(p.t, first, uint64(p.model.first))

	q, want := p.query()
	var got []uint64
	for e, err := range q.All(tx) {
		ok(p.t, err)
		got = append(got, e.Seq)
		p.same(e)
	}
	if !slices.Equal(got, want) {
		p.t.Fatalf("of %d entries from %d on, %d found, want %d: %v, want %v", n, first, len(got),
			len(want), got, want)
	}
	count, err := q.Count(tx)
	ok(p.t, err)
	equal(p.t, count, uint64(len(want)))
	at := p.r.IntN(len(want) + 1)
	e, err := q.Nth(tx, at)
	if at == len(want) {
		wantErr(p.t, err, stoat.ErrNotFound)
	} else {
		ok(p.t, err)
		equal(p.t, e.Seq, want[at])
		p.same(e)
	}
	p.ends(tx, q, want)
	p.get(tx, uint64(p.r.IntN(int(n)+2)))
	p.addresses(tx)
}

// ends wants a query to have the first and the last entry of the model.
func (p *player) ends(tx *stoat.Tx, q feed.Query[post], want []uint64) {
	p.t.Helper()
	first, firstErr := q.First(tx)
	last, lastErr := q.Last(tx)
	if len(want) == 0 {
		wantErr(p.t, firstErr, stoat.ErrNotFound)
		wantErr(p.t, lastErr, stoat.ErrNotFound)
		return
	}
	ok(p.t, errors.Join(firstErr, lastErr))
	equal(p.t, first.Seq, want[0])
	equal(p.t, last.Seq, want[len(want)-1])
	p.same(first)
	p.same(last)
}

// get wants an entry to be as in the model.
func (p *player) get(tx *stoat.Tx, seq uint64) {
	p.t.Helper()
	value, err := p.feed.Get(tx, seq)
	switch {
	case seq >= uint64(len(p.model.entries)):
		wantErr(p.t, err, stoat.ErrNotFound)
		if errors.Is(err, feed.ErrExpired) {
			p.t.Error(err)
		}
	case seq < uint64(p.model.first):
		wantErr(p.t, err, feed.ErrExpired)
		wantErr(p.t, err, stoat.ErrNotFound)
	case p.model.entries[seq].redacted:
		wantErr(p.t, err, feed.ErrRedacted)
	default:
		ok(p.t, err)
		equal(p.t, value.Text, p.model.entries[seq].post.Text)
	}
}

// same wants an entry to be as in the model.
func (p *player) same(e feed.Entry[post]) {
	p.t.Helper()
	want := p.model.entries[e.Seq]
	equal(p.t, e.Redacted, want.redacted)
	equal(p.t, e.At.UnixMilli(), want.at.UnixMilli())
	if want.redacted {
		want.post = post{}
	}
	if e.Value.Text != want.post.Text || e.Value.Author != want.post.Author ||
		!slices.Equal(e.Value.Tags, want.post.Tags) {
		p.t.Fatalf("entry %d is %v, want %v", e.Seq, e.Value, want.post)
	}
}

// addresses wants the addresses of authors to have as many entries as in the model.
func (p *player) addresses(tx *stoat.Tx) {
	p.t.Helper()
	want := map[string]uint64{}
	for _, e := range p.model.entries[p.model.first:] {
		if !e.redacted {
			want[e.post.Author]++
		}
	}
	last := ""
	for a, err := range p.feed.Addresses(tx, "author") {
		ok(p.t, err)
		if a.Name <= last || a.Count != want[a.Name] {
			p.t.Errorf("%d entries of %q behind %q, want %d", a.Count, a.Name, last, want[a.Name])
		}
		last = a.Name
		delete(want, a.Name)
	}
	if len(want) > 0 {
		p.t.Errorf("addresses are missing: %v", want)
	}
}

// query returns a random query and what it must find.
func (p *player) query() (feed.Query[post], []uint64) {
	n := len(p.model.entries)
	q := p.feed.Query()
	low, high := 0, n
	switch at := p.r.IntN(n + 3); p.r.IntN(3) {
	case 0:
		q, low = q.From(uint64(at)), at
	case 1:
		q, low = q.After(uint64(at)), at+1
	}
	switch at := p.r.IntN(n + 3); p.r.IntN(3) {
	case 0:
		q, high = q.Before(uint64(at)), min(n, at)
	case 1:
		q, high = q.Through(uint64(at)), min(n, at+1)
	}
	lets := func(post) bool { return true }
	for range p.r.IntN(3) {
		filter, fn := p.filter(2)
		q = q.Where(filter)
		before := lets
		lets = func(one post) bool { return before(one) && fn(one) }
	}
	redacted := p.r.IntN(3) == 0
	if redacted {
		q = q.WithRedacted()
	}
	var want []uint64
	for seq := max(low, p.model.first); seq < high; seq++ {
		if e := p.model.entries[seq]; lets(e.post) && (redacted || !e.redacted) {
			want = append(want, uint64(seq))
		}
	}
	if newest := p.r.IntN(60); newest < 20 {
		q = q.Newest(newest)
		if newest > 0 {
			want = want[max(0, len(want)-newest):]
		}
	}
	if p.r.IntN(2) == 0 {
		q = q.Reverse()
		slices.Reverse(want)
	}
	if limit := p.r.IntN(60); limit < 40 {
		q = q.Limit(limit)
		if limit > 0 {
			want = want[:min(limit, len(want))]
		}
	}
	return q, want
}

// filter returns a random filter and the same as a function.
func (p *player) filter(depth int) (feed.Filter, func(post) bool) {
	if depth == 0 || p.r.IntN(3) == 0 {
		if p.r.IntN(2) == 0 {
			name := fmt.Sprint("author ", p.r.IntN(4))
			return feed.In("author", name), func(one post) bool { return one.Author == name }
		}
		a, b := fmt.Sprint("tag ", p.r.IntN(5)), fmt.Sprint("tag ", p.r.IntN(5))
		return feed.In("tag", a, b), func(one post) bool {
			return slices.Contains(one.Tags, a) || slices.Contains(one.Tags, b)
		}
	}
	f, inF := p.filter(depth - 1)
	g, inG := p.filter(depth - 1)
	switch p.r.IntN(3) {
	case 0:
		return f.And(g), func(one post) bool { return inF(one) && inG(one) }
	case 1:
		return f.Or(g), func(one post) bool { return inF(one) || inG(one) }
	}
	return f.AndNot(g), func(one post) bool { return inF(one) && !inG(one) }
}

// startAt makes an empty feed one whose entries below seq were all removed.
func startAt(t testing.TB, db *stoat.DB, seq int) {
	t.Helper()
	open[post](t, db, nil)
	update(t, db, func(tx *stoat.Tx) {
		b, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		empty, err := b.Get([]byte("state"))
		ok(t, err)
		state := []byte{1}
		for _, n := range []int{seq, seq, 0, 0, seq, 0} {
			state = binary.AppendUvarint(state, uint64(n))
		}
		ok(t, b.Put([]byte("state"), append(state, empty[len(empty)-8:]...)))
	})
}

func TestFeed_isLikeTheModel(t *testing.T) {
	r := random(t)
	for i := range 4 {
		p := &player{t: t, r: r, dir: t.TempDir(), clock: newClock(), model: &model{}}
		if i%2 == 1 { // near the end of a chunk
			p.model.first = 1<<16 - r.IntN(2000)
			p.model.entries = make([]modelEntry, p.model.first)
			db, err := stoat.Open(p.dir, nil)
			ok(t, err)
			startAt(t, db, p.model.first)
			ok(t, db.Close())
		}
		p.open()
		for range 40 {
			p.step()
			view(t, p.db, func(tx *stoat.Tx) {
				for range 5 {
					p.check(tx)
				}
			})
		}
		ok(t, p.db.Check(t.Context()))
		ok(t, p.db.Close())
	}
}
