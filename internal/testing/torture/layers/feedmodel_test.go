package layers

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// oldPost is an entry of an older program: a post without the field Mood.
type oldPost struct {
	Author string
	Tags   []string
	Text   string
}

// post is an entry.
type post struct {
	Author string
	Tags   []string
	Text   string
	Mood   string
}

func toPost(p *oldPost) post { return post{Author: p.Author, Tags: p.Tags, Text: p.Text} }

func toOldPost(m post) *oldPost { return &oldPost{Author: m.Author, Tags: m.Tags, Text: m.Text} }

func samePost(a, b post) bool {
	return a.Author == b.Author && slices.Equal(a.Tags, b.Tags) && a.Text == b.Text &&
		a.Mood == b.Mood
}

// authors and tags return all addresses.
func authors() []string { return []string{"alice", "bob", "carol"} }

func tags() []string { return []string{"", "a", "b"} }

// anyTag is the tag of every entry, except those redacted before they reached the sublog.
const anyTag = "any"

func randomPost(rng *rand.Rand) post {
	m := post{Author: authors()[rng.IntN(3)], Text: fmt.Sprint(rng.Uint64())}
	for range rng.IntN(3) {
		m.Tags = append(m.Tags, tags()[rng.IntN(3)])
	}
	if rng.IntN(6) == 0 {
		m.Text = strings.Repeat(m.Text, 1+rng.IntN(20))
	}
	m.Mood = []string{"", "glad", "sad"}[rng.IntN(3)]
	return m
}

// The schemas of the feed.
const (
	feedPlain = iota // has the sublog author
	feedTags         // has the sublogs author and tag
	feedMood         // has both, and entries with the field Mood
	feedCount
)

// feedModel is the model of a feed and of the results of its consumers.
type feedModel struct {
	schema  int // of the last open, or neverOpened
	base    int // number of the first entry ever
	first   int // the oldest one kept
	entries []entry
	tagged  int  // entries below this number are in the sublog tag
	has     bool // the sublog tag exists
	cursors map[string]int
	beside  bool              // consumers run in goroutines
	handled map[string][]byte // how often each consumer handled each entry
}

// entry is one entry of the model.
type entry struct {
	post
	redacted bool
	untagged bool // redacted before it reached the sublog tag
}

func newFeedModel() *feedModel {
	return &feedModel{schema: neverOpened, cursors: map[string]int{}, handled: map[string][]byte{}}
}

func (m *feedModel) clone() *feedModel {
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
func (m *feedModel) next() int { return m.base + len(m.entries) }

// at returns the entry with a number.
func (m *feedModel) at(seq int) *entry { return &m.entries[seq-m.base] }

// opened applies an open with a schema, which completes the sublogs.
func (m *feedModel) opened(schema int) {
	if m.schema = schema; schema == feedPlain {
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

// dropTags drops the sublog tag.
func (m *feedModel) dropTags() { m.has, m.tagged = false, 0 }

// append adds an entry.
func (m *feedModel) append(e post) {
	if m.schema != feedMood {
		e.Mood = ""
	}
	m.entries = append(m.entries, entry{post: e})
	if m.schema != feedPlain {
		m.tagged = m.next()
	}
}

// visible returns an entry as the current schema shows it.
func (m *feedModel) visible(seq int) post {
	e := m.at(seq)
	switch {
	case e.redacted:
		return post{}
	case m.schema != feedMood:
		return post{Author: e.Author, Tags: e.Tags, Text: e.Text}
	}
	return e.post
}

// cursor returns the position of a consumer.
func (m *feedModel) cursor(name string) int {
	if at, ok := m.cursors[name]; ok {
		return at
	}
	return m.first
}

// isAt reports whether a consumer may be at an entry. One in a goroutine of its own skips redacted
// entries on the quiet.
func (m *feedModel) isAt(name string, seq int) bool {
	at := m.cursor(name)
	for m.beside && at < seq && at < m.next() && m.at(at).redacted {
		at++
	}
	return at == seq
}

// ahead returns the entries, starting with one, that a consumer will be called for.
func (m *feedModel) ahead(from int) []int {
	var all []int
	for seq := max(from, m.first); seq < m.next(); seq++ {
		if !m.at(seq).redacted {
			all = append(all, seq)
		}
	}
	return all
}

// handle records that a consumer handled an entry.
func (m *feedModel) handle(name string, seq int) {
	times := m.handled[name]
	for len(times) <= seq-m.base {
		times = append(times, 0)
	}
	times[seq-m.base]++
	m.handled[name] = times
}

// derived returns what a consumer should have written.
func (m *feedModel) derived(name string) map[string]string {
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

// feedQuery is a query that both the feed and the model answer.
type feedQuery struct {
	sublog, address string // all entries if empty
	redacted        bool
	reverse         bool
}

// feedQueries returns queries of all addresses.
func feedQueries(schema int) []feedQuery {
	all := []feedQuery{{}, {redacted: true}, {reverse: true}}
	for _, a := range authors() {
		all = append(all, feedQuery{sublog: "author", address: a, reverse: a == "bob"},
			feedQuery{sublog: "author", address: a, redacted: true})
	}
	if schema == feedPlain {
		return all
	}
	for _, tag := range append(tags(), anyTag) {
		all = append(all, feedQuery{sublog: "tag", address: tag},
			feedQuery{sublog: "tag", address: tag, redacted: true, reverse: tag == ""})
	}
	return all
}

// answer returns the numbers of the entries that match a query.
func (m *feedModel) answer(c feedQuery) []int {
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
