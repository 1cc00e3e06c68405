package object

import "testing"

// BenchmarkEncodeLog encodes a second of commits.
func BenchmarkEncodeLog(b *testing.B) {
	c, err := NewCodec()
	if err != nil {
		b.Fatal(err)
	}
	commits := &Commits{First: 1}
	for i := range 8_000 {
		batch := make([]byte, 420)
		for j := range batch {
			batch[j] = byte((i*j + j*j) * 7919 >> 3)
		}
		commits.Batches = append(commits.Batches, batch)
	}
	l := &Log{Header: Header{Number: 2, Epoch: 1, ID: ID{2}, Previous: ID{1}}}
	l.Parts = []Part{{Commits: commits}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.EncodeLog(l); err != nil {
			b.Fatal(err)
		}
	}
}
