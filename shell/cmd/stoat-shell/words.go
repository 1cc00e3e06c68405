package main

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errUnfinished is returned for a line that ends within a quoted word.
var errUnfinished = errors.New("a quote is not closed")

// split returns the words of a line. Spaces end a word unless they are quoted: 'literally', or
// "with escapes" as in Go. A backslash outside quotes makes the next character literal. A word that
// starts with # begins a comment.
func split(line string) (words []string, err error) {
	for {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		if line == "" || line[0] == '#' {
			return words, nil
		}
		var word string
		if word, line, err = nextWord(line); err != nil {
			return nil, err
		}
		words = append(words, word)
	}
}

// nextWord returns the first word of a line that begins with one, and the rest of the line.
func nextWord(line string) (word, rest string, err error) {
	var b strings.Builder
	for line != "" {
		r, size := utf8.DecodeRuneInString(line)
		switch {
		case unicode.IsSpace(r):
			return b.String(), line, nil
		case r == '\'':
			text, after, found := strings.Cut(line[1:], "'")
			if !found {
				return "", "", errUnfinished
			}
			b.WriteString(text)
			line = after
		case r == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return "", "", unquotable(line)
			}
			text, err := strconv.Unquote(quoted)
			if err != nil {
				return "", "", err
			}
			b.WriteString(text)
			line = line[len(quoted):]
		case r == '\\' && len(line) == 1:
			return "", "", errors.New("a backslash at the end of the line quotes nothing")
		default:
			if r == '\\' {
				line = line[1:]
				_, size = utf8.DecodeRuneInString(line)
			}
			b.WriteString(line[:size])
			line = line[size:]
		}
	}
	return b.String(), "", nil
}

// unquotable says what is wrong with a word that starts with a double quote.
func unquotable(line string) error {
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			return errors.New(line[:i+1] + ` is not quoted as in Go: escapes are \" \\ \n \t \xff`)
		}
	}
	return errUnfinished
}

// quote returns a word in a form that split reads back.
func quote(word string) string {
	plain := word != "" && !strings.HasPrefix(word, "#")
	for _, r := range word {
		if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
			return strconv.Quote(word)
		}
		plain = plain && !strings.ContainsRune(` '"\`, r)
	}
	switch {
	case plain:
		return word
	case strings.Contains(word, "'"):
		return strconv.Quote(word)
	}
	return "'" + word + "'"
}

// unfinished splits a line that is being typed into the words before the last one, and the
// unfinished last word, which begins at offset start of the line. It closes an open quote.
func unfinished(line string) (before []string, last string, start int, ok bool) {
	rest := line
	for {
		trimmed := strings.TrimLeftFunc(rest, unicode.IsSpace)
		start = len(line) - len(trimmed)
		if trimmed == "" {
			return before, "", start, true
		}
		word, after, err := nextWord(trimmed)
		if errors.Is(err, errUnfinished) {
			word, after, err = nextWord(trimmed + closing(trimmed))
		}
		if err != nil {
			return nil, "", 0, false
		}
		if after == "" {
			return before, word, start, true
		}
		before, rest = append(before, word), after
	}
}

// closing returns the quote that is open at the end of a word.
func closing(word string) string {
	if _, _, err := nextWord(word + "'"); err == nil {
		return "'"
	}
	return `"`
}
