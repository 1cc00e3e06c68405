package pattern

const (
	uuidFirst = 8  // digits of the first group of a UUID
	hexMin    = 8  // the fewest digits taken for hex
	base64Min = 12 // the fewest characters taken for base64
	sameMin   = 3  // the shortest field taken for a repetition of an earlier one
	wordMin   = 6  // leading letters of one case that show a word not to be random
	digitsMin = 4  // the fewest digits taken for a number after a letter
)

// lexer finds the fields of p. It is called from left to right, and looks at each byte only a few
// times.
type lexer struct {
	p []byte
	// Ends of the base64 characters found last, of either alphabet, so that they are not scanned
	// again after each slash or dash.
	standard, url int
	looked        int // bytes looked at, where they can be many
}

// lex returns the kind of the field that starts at i, and its length; kindEnd if there is none.
func (l *lexer) lex(i int) (kind, int) {
	p, rest := l.p, l.p[i:]
	before := byte(0)
	if i > 0 {
		before = classes[p[i-1]]
	}
	if before&classDigit != 0 {
		return kindEnd, 0
	}
	digits := spanOf(rest, classDigit, len(rest))
	l.looked += digits
	if before&classAlnum != 0 {
		if digits < digitsMin {
			return kindEnd, 0
		}
		return lexDigits(p, i, digits)
	}
	if digits == 4 && len(rest) >= dateBytes && rest[4] == '-' {
		for _, k := range [...]kind{kindTime, kindTimeSpace, kindDate} {
			if _, ok := parseClock(k, rest); ok {
				return k, k.size()
			}
		}
	}
	if word := spanOf(rest, classAlnum, maxPhraseBytes); digits < word || digits == uuidFirst {
		l.looked += word
		if k, n := l.random(i, word); k != kindEnd {
			return k, n
		}
	}
	return lexDigits(p, i, digits)
}

// random is lex for random characters: UUIDs, hex and base64. word is the length of the word at i.
func (l *lexer) random(i, word int) (kind, int) {
	p := l.p[i:]
	if word >= wordMin && (spanOf(p, classLower, wordMin) == wordMin ||
		spanOf(p, classUpper, wordMin) == wordMin) {
		return kindEnd, 0
	}
	if word == uuidFirst && len(p) >= uuidBytes && p[word] == '-' {
		switch {
		case isUUID(p[:uuidBytes], classHexLower):
			return kindUUID, uuidBytes
		case isUUID(p[:uuidBytes], classHexUpper):
			return kindUUIDUpper, uuidBytes
		}
	}
	if word >= hexMin && spanOf(p, classDigit, word) < word && anyOf(p[:word], classDigit) {
		switch {
		case spanOf(p, classHexLower, word) == word:
			return kindHex, word
		case spanOf(p, classHexUpper, word) == word:
			return kindHexUpper, word
		}
	}
	standard := l.spanFrom(i, classAlnum|classStandard, &l.standard)
	url := l.spanFrom(i, classAlnum|classURL, &l.url)
	k, n := kindBase64, standard
	if url > standard {
		k, n = kindBase64URL, url
	}
	if n >= base64Min && looksRandom(p[:n]) {
		return k, n
	}
	if word >= base64Min && looksRandom(p[:word]) {
		return kindBase64, word
	}
	return kindEnd, 0
}

// spanFrom returns how many bytes from i on have one of the classes, at most maxPhraseBytes. end
// caches where the last such bytes end.
func (l *lexer) spanFrom(i int, class byte, end *int) int {
	if *end <= i {
		*end = i + spanOf(l.p[i:], class, len(l.p))
		l.looked += *end - i
	}
	return min(*end-i, maxPhraseBytes)
}

// isUUID reports whether p has the shape of a UUID with digits of the class.
func isUUID(p []byte, class byte) bool {
	for i, c := range p {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if classes[c]&class == 0 {
				return false
			}
		}
	}
	return true
}

func anyOf(p []byte, class byte) bool {
	for _, c := range p {
		if classes[c]&class != 0 {
			return true
		}
	}
	return false
}

// looksRandom reports whether the base64 characters p change between digits, upper and lower case
// far more often than words do, even joined ones. Random ones do so in 0.64 of all cases.
func looksRandom(p []byte) bool {
	p = p[:min(len(p), 64)]
	changes := 0
	for i := 1; i < len(p); i++ {
		const kinds = classDigit | classUpper | classLower
		if classes[p[i]]&kinds != classes[p[i-1]]&kinds {
			changes++
		}
	}
	return 5*changes >= 2*len(p)
}

// lexDigits is lex for n digits at i of p.
func lexDigits(p []byte, i, n int) (kind, int) {
	if n == 0 {
		return kindEnd, 0
	}
	if n < sameMin && !inText(p, i, n) {
		return kindEnd, 0
	}
	before, after := byte(0), byte(0)
	if i > 0 {
		before = p[i-1]
	}
	if i+n < len(p) {
		after = p[i+n]
	}
	fraction := before == '.' && i > 1 && classes[p[i-2]]&classDigit != 0
	clock := n == 2 && (before == ':' || after == ':')
	if fraction || clock || n > maxDigits+1 || p[i] == '0' && n > 1 {
		return kindDigits, min(n, maxDigits)
	}
	if _, size := parseNumber(p[i : i+n]); size != n {
		return kindDigits, maxDigits
	}
	return kindNumber, n
}

// inText reports whether the n bytes at i of p have neighbours that are common in text. In binary
// data, one or two digits are just bytes.
func inText(p []byte, i, n int) bool {
	const near = 3
	for _, c := range p[max(0, i-near):min(len(p), i+n+near)] {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7F {
			return false
		}
	}
	return true
}
