package pattern

// Integers of 4 and 8 bytes are recognised by zeros: the most significant bytes of small ones.

// orderOf returns the byte order of the integers in the samples: kindLittle or kindBig, or kindEnd
// if it is better not to look for any. It tries each order on a part of the samples.
func orderOf(samples [][]byte) kind {
	part, size, found := [][]byte(nil), 0, 0
	for i := 0; i < len(samples) && size < orderBytes; i += 1 + len(samples)/orderSamples {
		part = append(part, samples[i])
		size += len(samples[i])
		zeroSpans(samples[i], func(start, end int) {
			if end-start > 1 {
				found++
			}
		})
	}
	if found < len(part)/4 {
		return kindEnd
	}
	best, least := kindEnd, size
	for _, k := range [...]kind{kindEnd, kindLittle, kindBig} {
		t := trainer{order: k}
		if d := t.train(part); d != nil && t.size < least {
			best, least = k, t.size
		}
	}
	return best
}

// How many of the samples orderOf tries.
const (
	orderSamples = 500
	orderBytes   = 64 << 10
)

// zeroSpans calls fn for each sequence of zero bytes.
func zeroSpans(p []byte, fn func(start, end int)) {
	for i := 0; i < len(p); i++ {
		if p[i] != 0 {
			continue
		}
		start := i
		for i < len(p) && p[i] == 0 {
			i++
		}
		fn(start, i)
	}
}

// integers returns where integers of 4 and 8 bytes seem to be, taking zeros for their most
// significant bytes.
func (t *trainer) integers(p []byte) (found []span) {
	if t.order == kindEnd {
		return nil
	}
	done := 0
	zeroSpans(p, func(start, end int) {
		for start = max(start, done); start < end; start = max(start, done) {
			from, width := start, widthOf(end-start, min(len(p)-start, 8))
			if t.order == kindLittle {
				width = widthOf(end-start, end-done)
				from = max(done, end-width*((end-start+width)/max(width, 1)))
			}
			if width == 0 || from+width > len(p) {
				return
			}
			found = append(found, span{from, from + width})
			done = from + width
		}
	})
	return found
}

// widthOf returns the width of the integer that a sequence of zero bytes seems to be part of, or 0
// if there is none. room is how many bytes it can have.
func widthOf(zeros, room int) int {
	switch {
	case room == 8 || room == 4 && zeros < 4:
		return room
	case room >= 8 && zeros >= 4:
		return 8
	case room >= 4 && zeros >= 2:
		return 4
	}
	return 0
}
