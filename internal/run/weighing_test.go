package run

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/block"
)

// series returns a document of small numbers, which the pattern codec makes smaller than zstd does,
// and takes several times as long to decode.
func series(bytes int, rng *rand.Rand) string {
	var b strings.Builder
	b.WriteString(`{"series":[`)
	for b.Len() < bytes {
		fmt.Fprintf(&b, "%d,", rng.IntN(100))
	}
	return b.String() + `0]}`
}

// prose returns a document of words, which the pattern codec decodes sooner than zstd does.
func prose(bytes int, rng *rand.Rand) string {
	words := strings.Fields("alpha bravo charlie delta echo foxtrot golf hotel india juliet kilo " +
		"lima mike november oscar papa quebec romeo sierra tango uniform victor whiskey xray yankee zulu")
	var b strings.Builder
	for b.Len() < bytes {
		b.WriteString(words[rng.IntN(len(words))] + " ")
	}
	return b.String()
}

func TestWriter_weighsTheTimeThatReadsTake(t *testing.T) {
	for _, size := range []int{600, 4200, 41_000} {
		rng := testRand()
		documents := func() string { return series(size, rng) }
		texts := func() string { return prose(size, rng) }
		for name, c := range map[string]struct {
			value func() string
			want  block.Codec
		}{"series": {documents, block.Zstd}, "prose": {texts, block.Pattern}} {
			s := storedAs(t, bucketOf(1, 3<<19, c.value))
			if got := [block.Codecs]uint64{block.Zstd: s.Zstd, block.Pattern: s.Pattern}; got[c.want] <
				s.Bytes*3/4 {
				t.Errorf("%s of %d bytes are not stored by %v: %+v", name, size, c.want, s)
			}
		}
	}
}

func TestWriter_weighsValuesOfDifferentSizesApart(t *testing.T) {
	rng := testRand()
	var messages, documents, n uint64
	entries := bucketOf(1, 3<<19, func() string {
		if n++; n%10 == 0 {
			v := series(14_000, rng)
			documents += uint64(len(v))
			return v
		}
		v := event("login", rng) + strings.Repeat(event("again", rng), 2)
		messages += uint64(len(v))
		return v
	})
	s := storedAs(t, entries)
	if s.Zstd < documents*3/4 || s.Pattern < messages*3/4 {
		t.Errorf("%d bytes of messages and %d of documents are stored as %+v", messages, documents, s)
	}
}

// Blocks of one value each would be larger than what is in them.
func TestWriter_dividesNoBucketIntoTinyBlocks(t *testing.T) {
	rng, n := testRand(), 0
	s := storedAs(t, bucketOf(1, 3<<19, func() string {
		if n++; n%2 == 0 {
			return series(900, rng)
		}
		return event("login", rng)
	}))
	if s.Pattern > 0 || s.Stored > s.Bytes*6/10 {
		t.Errorf("messages and documents by turns are stored as %+v", s)
	}
}

// storedAs writes entries of bucket 1 as the engine does, and returns how they are stored.
func storedAs(t *testing.T, entries []entry) (s struct{ Bytes, Stored, Zstd, Pattern uint64 }) {
	t.Helper()
	files := newFS(t)
	c := config(files)
	c.TableBytes, c.BlockBytes, c.Compress, c.Patterns = 1<<30, 0, true, true
	o := write(t, c, entries)
	if n := len(o.Tables); n != 1 {
		t.Fatalf("%d tables were written", n)
	}
	b := shareOf(t, o.Tables, 1)
	s.Bytes, s.Stored, s.Zstd, s.Pattern = b.Bytes, b.Stored, b.Zstd, b.Pattern
	return s
}
