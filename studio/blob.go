package studio

import (
	"bytes"
	"unicode/utf8"
)

// blob is a key, a name, or a part of a value, as the API shows it.
type blob struct {
	Base64 []byte  `json:"base64"`
	Text   *string `json:"text,omitempty"` // the same, if it is valid UTF-8
	Size   int     `json:"size"`           // of the whole
	Cut    bool    `json:"cut,omitempty"`  // there is more than is shown
	JSON   bool    `json:"json,omitempty"` // the text is JSON
}

// keyShown is how much of a key or a name is shown where there are many of them.
const keyShown = 1 << 10

// whole returns a blob of all of p, which it retains.
func whole(p []byte) blob { return head(p, len(p), len(p)) }

// head returns a blob of the first bytes of p, at most most of them, which are the start of size
// bytes in all. It retains p. It does not cut a character of valid text in two.
func head(p []byte, size, most int) blob {
	shown := p[:min(len(p), most)]
	if len(shown) < size {
		shown = wholeCharacters(shown)
	}
	b := blob{Base64: shown, Size: size, Cut: len(shown) < size}
	if b.Base64 == nil {
		b.Base64 = []byte{}
	}
	if utf8.Valid(shown) {
		text := string(shown)
		b.Text = &text
	}
	return b
}

// start returns a blob of a copy of the first bytes of p, at most most of them.
func start(p []byte, most int) *blob {
	b := head(bytes.Clone(p[:min(len(p), most)]), len(p), most)
	return &b
}

// wholeCharacters returns p without the start of a character at its end, if there is one, unless
// nothing would be left.
func wholeCharacters(p []byte) []byte {
	for i := 1; i < utf8.UTFMax && i < len(p); i++ {
		last := p[len(p)-i:]
		if utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return p[:len(p)-i]
			}
			break
		}
	}
	return p
}
