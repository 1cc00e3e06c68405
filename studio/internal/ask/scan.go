package ask

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the kind of a token.
type kind uint8

const (
	end    kind = iota
	word        // a keyword, or a name of a field
	name        // a name of a field in backquotes
	number      // begins with a digit, perhaps after a sign
	quoted      // a text
	raw         // bytes in hexadecimal
	symbol      // an operator or a delimiter
)

// token is a part of a query.
type token struct {
	kind   kind
	text   string // as it is meant: without quotes
	column int
}

// is reports whether the token is a keyword or symbol.
func (t token) is(text string) bool {
	return t.kind == word && strings.EqualFold(t.text, text) || t.kind == symbol && t.text == text
}

// String returns the token for messages.
func (t token) String() string {
	switch t.kind {
	case end:
		return "the end"
	case quoted:
		return strconv.Quote(cut(t.text))
	case raw:
		return "x" + strconv.Quote(cut(hex.EncodeToString([]byte(t.text))))
	case name:
		return "`" + cut(t.text) + "`"
	}
	return cut(t.text)
}

// cut shortens a text for messages, to whole characters.
func cut(text string) string {
	most := 40
	if len(text) <= most {
		return text
	}
	for most > 37 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// scanner divides a text into tokens.
type scanner struct {
	text   string
	at     int
	column int
}

// scan returns the tokens of a text; the last one is the end.
func scan(text string) ([]token, error) {
	s := &scanner{text: text, column: 1}
	var tokens []token
	for {
		t, err := s.next()
		if err != nil {
			return nil, err
		}
		tokens = append(tokens, t)
		if t.kind == end {
			return tokens, nil
		}
	}
}

// skip goes on by n bytes.
func (s *scanner) skip(n int) {
	s.column += utf8.RuneCountInString(s.text[s.at : s.at+n])
	s.at += n
}

// next returns the next token.
func (s *scanner) next() (token, error) {
	rest := strings.TrimLeftFunc(s.text[s.at:], unicode.IsSpace)
	s.skip(len(s.text) - s.at - len(rest))
	t := token{column: s.column}
	if rest == "" {
		return t, nil
	}
	c, size := utf8.DecodeRuneInString(rest)
	switch {
	case c == '"' || c == '\'':
		t.kind = quoted
		return s.quote(t, c)
	case c == 'x' && len(rest) > 1 && (rest[1] == '"' || rest[1] == '\''):
		s.skip(1)
		return s.hex(t, rune(rest[1]))
	case c == '`':
		size = strings.IndexByte(rest[1:], '`')
		if size < 0 {
			return t, &Error{t.column, "the name has no closing `"}
		}
		t.kind, t.text = name, rest[1:1+size]
		s.skip(size + 2)
		return t, nil
	case isDigit(rest):
		t.kind, size = number, numberSize(rest)
	case isLetter(c):
		t.kind, size = word, wordSize(rest)
	default:
		t.kind = symbol
		for _, two := range []string{"==", "!=", "<>", "<=", ">="} {
			if strings.HasPrefix(rest, two) {
				size = 2
			}
		}
		if size != 2 && !strings.ContainsRune("()=<>,+-≠≤≥", c) || size == 2 && c > unicode.MaxASCII {
			return t, &Error{t.column, "there is a " + strconv.QuoteRune(c) +
				", which means nothing here"}
		}
	}
	t.text = rest[:size]
	s.skip(size)
	return t, nil
}

// isDigit reports whether a number begins here.
func isDigit(text string) bool {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "-"), "+")
	text = strings.TrimPrefix(text, ".")
	return text != "" && text[0] >= '0' && text[0] <= '9'
}

func isLetter(c rune) bool { return c == '_' || unicode.IsLetter(c) }

// wordSize returns the length of the word at the start of a text.
func wordSize(text string) int {
	for i, c := range text {
		if !isLetter(c) && !unicode.IsDigit(c) && c != '.' {
			return i
		}
	}
	return len(text)
}

// numberSize returns the length of the number at the start of a text, with its unit.
func numberSize(text string) int {
	size := 0
	if text[0] == '-' || text[0] == '+' {
		size = 1
	}
	isHex := strings.HasPrefix(text[size:], "0x")
	for ; size < len(text); size++ {
		c := text[size]
		sign := (c == '-' || c == '+') && !isHex && (text[size-1] == 'e' || text[size-1] == 'E')
		if !sign && c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			break
		}
	}
	return size
}

// quote reads a text in quotes.
func (s *scanner) quote(t token, mark rune) (token, error) {
	rest := s.text[s.at+1:]
	var b strings.Builder
	for {
		if rest == "" {
			return t, &Error{t.column, "the text has no closing " + string(mark)}
		}
		if rune(rest[0]) == mark {
			break
		}
		if rest[0] != '\\' {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		c, wide, tail, err := strconv.UnquoteChar(rest, byte(mark))
		if err != nil {
			at := s.column + utf8.RuneCountInString(s.text[s.at:len(s.text)-len(rest)])
			return t, &Error{at, `there is no such escape: write a backslash as \\`}
		}
		if rest = tail; wide || c < utf8.RuneSelf {
			b.WriteRune(c)
		} else {
			b.WriteByte(byte(c))
		}
	}
	s.skip(len(s.text) - s.at - len(rest) + 1)
	t.text = b.String()
	return t, nil
}

// hex reads bytes in hexadecimal.
func (s *scanner) hex(t token, mark rune) (token, error) {
	t, err := s.quote(t, mark)
	if err != nil {
		return t, err
	}
	p, err := hex.DecodeString(t.text)
	if err != nil {
		return t, &Error{t.column, `bytes are pairs of hexadecimal digits, as in x"00ff"`}
	}
	t.kind, t.text = raw, string(p)
	return t, nil
}
