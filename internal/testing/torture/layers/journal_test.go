package layers

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// post is an entry. Mood is post with a field more.
type post struct {
	Author string
	Tags   []string
	Text   string
}

// mood is what a newer program has of a post.
type mood struct {
	Author string
	Tags   []string
	Text   string
	Mood   string
}

func toMood(p *post) mood { return mood{Author: p.Author, Tags: p.Tags, Text: p.Text} }

func toPost(m mood) *post { return &post{Author: m.Author, Tags: m.Tags, Text: m.Text} }

func sameMood(a, b mood) bool {
	return a.Author == b.Author && slices.Equal(a.Tags, b.Tags) && a.Text == b.Text &&
		a.Mood == b.Mood
}

// authors and tags are all the addresses that there are.
func authors() []string { return []string{"alice", "bob", "carol"} }

func tags() []string { return []string{"", "a", "b"} }

// anyTag is under what the sublog of tags has all entries but those it got redacted.
const anyTag = "any"

func randomMood(rng *rand.Rand) mood {
	m := mood{Author: authors()[rng.IntN(3)], Text: fmt.Sprint(rng.Uint64())}
	for range rng.IntN(3) {
		m.Tags = append(m.Tags, tags()[rng.IntN(3)])
	}
	if rng.IntN(6) == 0 {
		m.Text = strings.Repeat(m.Text, 1+rng.IntN(20))
	}
	m.Mood = []string{"", "glad", "sad"}[rng.IntN(3)]
	return m
}

// The forms that a feed is opened in.
const (
	feedPlain = iota // with the sublog of authors
	feedTags         // with that of tags, too
	feedMoods        // and with entries that have moods
	feedCount
)

// journal is the model of a feed, and of what consumers have made of it.
type journal struct {
	form    int // in which it was last opened; unmade if there is none
	base    int // the number of the first entry ever
	first   int // the oldest that is kept
	entries []entry
	tagged  int  // the entries from base up to but without this one are in the sublog of tags
	has     bool // there is a sublog of tags
	cursors map[string]int
	beside  bool              // consumers run by themselves
	handled map[string][]byte // how often a consumer has handled an entry that is kept or was
}

// entry is an entry of the journal.
type entry struct {
	mood
	redacted bool
	untagged bool // it was redacted before it came to the sublog of tags
}

func newJournal() *journal {
	return &journal{form: unmade, cursors: map[string]int{}, handled: map[string][]byte{}}
}

func (m *journal) clone() *journal {
	next := *m
	next.entries = slices.Clone(m.entries)
	next.cursors = maps.Clone(m.cursors)
	next.handled = map[string][]byte{}
	for name, times := range m.handled {
		next.handled[name] = slices.Clone(times)
	}
	return &next
}

// next returns the number of the next entry.
func (m *journal) next() int { return m.base + len(m.entries) }

// at returns the entry with a number.
func (m *journal) at(seq int) *entry { return &m.entries[seq-m.base] }

// opened makes the journal one that was opened in a form, by which sublogs get what they lack.
func (m *journal) opened(form int) {
	if m.form = form; form == feedPlain {
		return
	}
	if !m.has {
		m.has, m.tagged = true, m.first
	}
	for seq := max(m.tagged, m.first); seq < m.next(); seq++ {
		e := m.at(seq)
		e.untagged = e.redacted
	}
	m.tagged = m.next()
}

// dropTags removes the sublog of tags.
func (m *journal) dropTags() { m.has, m.tagged = false, 0 }

// append adds an entry.
func (m *journal) append(e mood) {
	if m.form != feedMoods {
		e.Mood = ""
	}
	m.entries = append(m.entries, entry{mood: e})
	if m.form != feedPlain {
		m.tagged = m.next()
	}
}

// visible returns what the present form sees of an entry.
func (m *journal) visible(seq int) mood {
	e := m.at(seq)
	switch {
	case e.redacted:
		return mood{}
	case m.form != feedMoods:
		return mood{Author: e.Author, Tags: e.Tags, Text: e.Text}
	}
	return e.mood
}

// cursor returns where a consumer is.
func (m *journal) cursor(name string) int {
	if at, ok := m.cursors[name]; ok {
		return at
	}
	return m.first
}

// isAt reports whether a consumer can be at an entry. One that runs by itself passes redacted
// entries over without a word.
func (m *journal) isAt(name string, seq int) bool {
	at := m.cursor(name)
	for m.beside && at < seq && at < m.next() && m.at(at).redacted {
		at++
	}
	return at == seq
}

// ahead returns the entries from one on that a consumer will be called for.
func (m *journal) ahead(from int) []int {
	var all []int
	for seq := max(from, m.first); seq < m.next(); seq++ {
		if !m.at(seq).redacted {
			all = append(all, seq)
		}
	}
	return all
}

// handle notes that a consumer has handled an entry.
func (m *journal) handle(name string, seq int) {
	times := m.handled[name]
	for len(times) <= seq-m.base {
		times = append(times, 0)
	}
	times[seq-m.base]++
	m.handled[name] = times
}

// derived returns what a consumer has written.
func (m *journal) derived(name string) map[string]string {
	want := map[string]string{}
	counts := map[string]int{}
	for i, times := range m.handled[name] {
		if times > 0 {
			want[timesKey(uint64(m.base+i))] = fmt.Sprint(times)
			counts[m.entries[i].Author] += int(times)
		}
	}
	for author, n := range counts {
		want[countKey(author)] = fmt.Sprint(n)
	}
	return want
}

// choice is a query of a feed, and how the model answers it.
type choice struct {
	sublog, address string // empty: all entries
	redacted        bool
	reverse         bool
}

// choices returns queries of all addresses.
func choices(form int) []choice {
	all := []choice{{}, {redacted: true}, {reverse: true}}
	for _, a := range authors() {
		all = append(all, choice{sublog: "author", address: a, reverse: a == "bob"},
			choice{sublog: "author", address: a, redacted: true})
	}
	if form == feedPlain {
		return all
	}
	for _, tag := range append(tags(), anyTag) {
		all = append(all, choice{sublog: "tag", address: tag},
			choice{sublog: "tag", address: tag, redacted: true, reverse: tag == ""})
	}
	return all
}

// answer returns the numbers of the entries that a query must find.
func (m *journal) answer(c choice) []int {
	var all []int
	for seq := m.first; seq < m.next(); seq++ {
		e := m.at(seq)
		if c.sublog == "author" && e.Author != c.address || e.redacted && !c.redacted {
			continue
		}
		tagged := !e.untagged && (c.address == anyTag || slices.Contains(e.Tags, c.address))
		if c.sublog == "tag" && !tagged {
			continue
		}
		all = append(all, seq)
	}
	if c.reverse {
		slices.Reverse(all)
	}
	return all
}
