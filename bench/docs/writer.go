package docs

import (
	"encoding/hex"
	"go/token"
	"math/rand/v2"
	"strconv"
	"time"
)

// writer writes documents, one after another. The same source of random numbers gives the same
// documents.
type writer struct {
	random *rand.Rand
	words  []string
	drawn  []uint16 // indices of words, as frequent as in natural language
	people []person
	buf    []byte
	clock  time.Time // of the next line or field with a time
	serial int       // of the last order
}

// person is someone who occurs in many documents.
type person struct {
	id                int
	login, name, mail string
}

const (
	wordCount   = 3_000
	drawnCount  = 1 << 15
	peopleCount = 500
)

// newWriter returns a writer with its own vocabulary and people.
func newWriter(random *rand.Rand) *writer {
	w := &writer{random: random, clock: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)}
	seen := make(map[string]bool)
	for len(w.words) < wordCount {
		syllables := 1 + random.IntN(1+min(3, 1+len(w.words)/200)) // common words are short
		if word := newWord(random, syllables); !seen[word] && !token.IsKeyword(word) {
			seen[word] = true
			w.words = append(w.words, word)
		}
	}
	zipf := rand.NewZipf(random, 1.1, 3, wordCount-1) // close to the word frequencies of prose
	for range drawnCount {
		w.drawn = append(w.drawn, uint16(zipf.Uint64()))
	}
	for i := range peopleCount {
		first, last := w.title(), w.title()
		login := w.word() + strconv.Itoa(random.IntN(100))
		w.people = append(w.people, person{
			id:    1000 + i*17,
			login: login,
			name:  first + " " + last,
			mail:  login + "@" + w.word() + ".example.com",
		})
	}
	return w
}

// newWord returns a word with the given number of syllables.
func newWord(random *rand.Rand, syllables int) string {
	starts := []string{
		"b", "c", "d", "f", "g", "l", "m", "n", "p", "r", "s", "t", "st", "tr", "pl", "",
	}
	vowels := []string{"a", "e", "i", "o", "u", "ea", "io"}
	ends := []string{"", "", "", "n", "r", "s", "t", "ng", "l"}
	var word string
	for range syllables {
		word += starts[random.IntN(len(starts))] + vowels[random.IntN(len(vowels))] +
			ends[random.IntN(len(ends))]
	}
	return word
}

// word returns a random word, common ones more often.
func (w *writer) word() string { return w.words[w.drawn[w.random.IntN(drawnCount)]] }

// title returns a word with a capital letter.
func (w *writer) title() string {
	word := []byte(w.word())
	word[0] -= 'a' - 'A'
	return string(word)
}

// person returns a random person, the first ones more often.
func (w *writer) person() person {
	return w.people[int(w.drawn[w.random.IntN(drawnCount)])%peopleCount]
}

// pick returns one of the texts at random.
func (w *writer) pick(texts ...string) string { return texts[w.random.IntN(len(texts))] }

// add appends the texts.
func (w *writer) add(texts ...string) {
	for _, t := range texts {
		w.buf = append(w.buf, t...)
	}
}

// number appends a random number in [from, to).
func (w *writer) number(from, to int) {
	w.buf = strconv.AppendInt(w.buf, int64(from+w.random.IntN(to-from)), 10)
}

// prose appends random words.
func (w *writer) prose(words int) {
	w.add(w.title())
	for i := 1; i < words; i++ {
		if w.random.IntN(12) == 0 {
			w.add(",")
		}
		w.add(" ", w.word())
	}
}

// hex appends the hexadecimal digits of random bytes, at most eight bytes.
func (w *writer) hex(bytes int) {
	var raw [8]byte
	for i, v := 0, w.random.Uint64(); i < bytes; i++ {
		raw[i] = byte(v >> (8 * i))
	}
	w.buf = hex.AppendEncode(w.buf, raw[:bytes])
}

// uuid appends a random UUID.
func (w *writer) uuid() {
	for i, bytes := range []int{4, 2, 2, 2, 6} {
		if i > 0 {
			w.add("-")
		}
		w.hex(bytes)
	}
}

// time appends the time, which advances by a random duration of less than most.
func (w *writer) time(layout string, most time.Duration) {
	w.clock = w.clock.Add(time.Duration(w.random.Int64N(int64(most))))
	w.buf = w.clock.AppendFormat(w.buf, layout)
}
