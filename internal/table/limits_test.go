package table

import (
	"testing"

	"github.com/stoatdb/stoat/internal/keyspace"
)

func TestAdd_refusesWhatIsAboveTheLimits(t *testing.T) {
	tooLong := make([]byte, keyspace.MaxValueBytes+1) // untouched: it costs address space only
	put := keyspace.Entry{Kind: keyspace.KindPut}
	w := newWriter(t, WriterOptions{})
	if err := w.Add([]byte("k"), keyspace.Entry{Kind: put.Kind, Value: tooLong}); err == nil {
		t.Error("a value above the limit was taken")
	}
	w = newWriter(t, WriterOptions{})
	key := tooLong[:keyspace.MaxInternalKeyBytes+1]
	if err := w.Add(key, put); err == nil {
		t.Error("a key above the limit was taken")
	}
	w = newWriter(t, WriterOptions{})
	if err := w.Add(key[:keyspace.MaxInternalKeyBytes], put); err != nil {
		t.Errorf("a key at the limit: %v", err)
	}
}

func TestExceeds_holdsForTheLargestValues(t *testing.T) {
	const most = keyspace.MaxValueBytes
	for _, tt := range []struct {
		used, more, limit int
		want              bool
	}{
		{most, most, maxBlockBytes, true}, // the sum is no int of 32 bits
		{most, 0, maxBlockBytes, true},
		{0, most, maxBlockBytes, true},
		{100, 50, 150, false},
		{100, 51, 150, true},
		{0, 0, 1, false},
	} {
		if got := exceeds(tt.used, tt.more, tt.limit); got != tt.want {
			t.Errorf("exceeds(%d, %d, %d) = %v", tt.used, tt.more, tt.limit, got)
		}
	}
}

func TestSize_countsBeyondTwoGigabytes(t *testing.T) {
	w := newWriter(t, WriterOptions{})
	w.offset = 5 << 30
	if got := w.Size(); got < 5<<30 || got > 5<<30+1000 {
		t.Errorf("Size says %d after %d bytes", got, w.offset)
	}
}
