package pattern

// Integers of 4 and 8 bytes are recognised by zeros, which are the most significant bytes of small
// ones.

// orderOf returns which integers the samples have, kindLittle or kindBig, or kindEnd if it is
// better not to look for any. It tries on a part of them.
func orderOf(samples [][]byte) kind {
	part, size, found := [][]byte(nil), 0, 0
	for i := 0; i < len(samples) && size < orderBytes; i += 1 + len(samples)/orderSamples {
		part = append(part, samples[i])
		size += len(samples[i])
		zeroRuns(samples[i], func(start, end int) {
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

// How much of the samples is tried.
const (
	orderSamples = 500
	orderBytes   = 64 << 10
)

// zeroRuns calls fn for each run of zero bytes.
func zeroRuns(p []byte, fn func(start, end int)) {
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

// integers returns where integers of 4 and 8 bytes seem to be: zeros are their most significant
// bytes.
func (t *trainer) integers(p []byte) (found []span) {
	if t.order == kindEnd {
		return nil
	}
	done := 0
	zeroRuns(p, func(start, end int) {
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

// widthOf returns how many bytes an integer has that so many zero bytes are part of, or 0 if they
// seem to be of none. room is how many bytes there are for it.
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
