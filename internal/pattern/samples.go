package pattern

import "math"

// The most that a dictionary is trained on. More would take longer and hardly improve it.
const (
	samplesMax = 1 << 20  // bytes of all samples
	sampleMax  = 64 << 10 // bytes of one
)

// bounded returns the samples that are not empty, and their size in bytes. It cuts those that are
// too long and, if they are too many, skips some, evenly.
func bounded(samples [][]byte) (part [][]byte, size int) {
	all := 0
	for _, p := range samples {
		all += min(len(p), sampleMax)
	}
	part = make([][]byte, 0, min(len(samples), samplesMax))
	seen := 0
	for _, p := range samples {
		p = p[:min(len(p), sampleMax)]
		seen += len(p)
		share := seen
		if all > samplesMax {
			share = int(float64(seen) / float64(all) * samplesMax)
		}
		if len(p) > 0 && size+len(p) <= share {
			part = append(part, p)
			size += len(p)
		}
	}
	return part, size
}

const (
	noiseBits  = 7.5 // least bits that a byte of noise takes as a token of its own
	noiseCount = 16  // occurrences of a pair of neighbours that chance may always explain
)

// looksLikeNoise reports whether all bytes are about equally frequent in the samples, and no two
// are neighbours much more often than by chance.
func looksLikeNoise(samples [][]byte) bool {
	var pairs [1 << 16]uint32
	var lefts, rights [1 << 8]uint32
	for _, p := range samples {
		for i := 1; i < len(p); i++ {
			pairs[int(p[i-1])<<8|int(p[i])]++
		}
	}
	total := 0.0
	for i, n := range pairs {
		lefts[i>>8] += n
		rights[i&0xFF] += n
		total += float64(n)
	}
	bits := 0.0
	for _, n := range lefts {
		if n > 0 {
			bits += float64(n) * math.Log2(total/float64(n))
		}
	}
	if bits < noiseBits*total {
		return false
	}
	for i, n := range pairs {
		chance := float64(lefts[i>>8]) * float64(rights[i&0xFF]) / max(total, 1)
		if float64(n) > 2*chance+noiseCount {
			return false
		}
	}
	return true
}
