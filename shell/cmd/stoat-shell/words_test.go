package main

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit_readsQuotedWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                          nil,
		"  get  key\t":              {"get", "key"},
		`put 'two words' ""`:        {"put", "two words", ""},
		`put "tab\tand \"quote\""`:  {"put", "tab\tand \"quote\""},
		`get a\ b\\c`:               {"get", `a b\c`},
		`scan -prefix='x y'z`:       {"scan", "-prefix=x yz"},
		`get "\xff\x00"`:            {"get", "\xff\x00"},
		"get key # what it was for": {"get", "key"},
		"get a#b":                   {"get", "a#b"},
		"get ключ":                  {"get", "ключ"},
		"get à Å\u00a0\u3042":       {"get", "à", "Å", "\u3042"},
		"get \\à":                   {"get", "à"},
		"get \xa0\x85":              {"get", "\xa0\x85"},
	} {
		got, err := split(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: words %q, want %q (%v)", line, got, want, err)
		}
	}
}

func TestSplit_saysWhatIsWrongWithALine(t *testing.T) {
	for line, want := range map[string]string{
		`get 'open`:     "a quote is not closed",
		`get "open`:     "a quote is not closed",
		`get "open\"`:   "a quote is not closed",
		`get "\q" more`: "escapes are",
		`get \`:         "a backslash at the end of the line",
	} {
		words, err := split(line)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: words %q, error %v, want %q in it", line, words, err, want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, word := range []string{
		"", "plain", "two words", "it's", `"`, `\`, "#x", "\xff\x00", "à", "\u00a0", "\xa0",
	} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		words, err := split("get " + quote(word) + " end")
		if err != nil || len(words) != 3 || words[1] != word {
			t.Errorf("%q is written as %s and read as %q (%v)", word, quote(word), words, err)
		}
	})
}

func FuzzUnfinished(f *testing.F) {
	for _, line := range []string{
		"", "get", "get ", `get "a b`, `get 'a`, `get a\ b`, `cd "\x`, "get à", "get \xa0",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		_, _, start, ok := unfinished(line)
		if ok && (start < 0 || start > len(line)) {
			t.Errorf("%q: the last word begins at %d", line, start)
		}
	})
}

func TestUnfinished_findsTheWordThatIsTyped(t *testing.T) {
	for _, c := range []struct {
		line, last string
		before     []string
		start      int
	}{
		{"", "", nil, 0},
		{"ge", "ge", nil, 0},
		{"get ", "", []string{"get"}, 4},
		{"get ke", "ke", []string{"get"}, 4},
		{`get "two wo`, "two wo", []string{"get"}, 4},
		{"get 'two wo", "two wo", []string{"get"}, 4},
		{`put 'a b' c`, "c", []string{"put", "a b"}, 10},
	} {
		before, last, start, ok := unfinished(c.line)
		if !ok || last != c.last || start != c.start || !slices.Equal(before, c.before) {
			t.Errorf("%q: %q behind %q at %d (%v)", c.line, last, before, start, ok)
		}
	}
}
