package pattern

const (
	uuidFirst = 8  // digits of the first group of a UUID
	hexMin    = 8  // the fewest digits of hex that are taken for such
	base64Min = 12 // the fewest characters of base64 that are taken for such
	sameMin   = 3  // the shortest run that is said to be the same as an earlier one
	wordMin   = 6  // letters of one case after which a word is not taken for random
	digitsMin = 4  // the fewest digits that are taken for a number behind a letter
)

// lexer finds the runs of p. It is asked for them from left to right, and looks at a byte only so
// often.
type lexer struct {
	p []byte
	// Where the characters of base64 end that were found last, of either alphabet. They start again
	// behind each slash or dash.
	standard, url int
	looked        int // at how many bytes that can be many
}

// lex returns which kind of run starts at i, and its length; kindEnd if none does.
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

// random is lex for what is random: UUIDs, hex and base64. A word of that length starts at i.
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

// spanFrom returns how many bytes from i on have one of the classes, but at most maxPhraseBytes.
// end is where the last ones end that it was asked for.
func (l *lexer) spanFrom(i int, class byte, end *int) int {
	if *end <= i {
		*end = i + spanOf(l.p[i:], class, len(l.p))
		l.looked += *end - i
	}
	return min(*end-i, maxPhraseBytes)
}

// isUUID reports whether p has the shape of a UUID with digits of that class.
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

// looksRandom reports whether the characters p of base64 change between digits, upper and lower
// case far more often than words do, even joined ones: random ones do so in 0.64 of all cases.
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

// lexDigits is lex for the digits at i of p.
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
// data, one or two digits are nothing but bytes.
func inText(p []byte, i, n int) bool {
	const near = 3
	for _, c := range p[max(0, i-near):min(len(p), i+n+near)] {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7F {
			return false
		}
	}
	return true
}
