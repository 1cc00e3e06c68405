package cryptstore

import (
	"bytes"
	"testing"

	"github.com/stoatdb/stoat/remote/memstore"
)

const benchBytes = 4 << 20 // of a table

func BenchmarkPut(b *testing.B) {
	p := content(benchBytes)
	b.SetBytes(benchBytes)
	for b.Loop() {
		s := open(b, memstore.New(), 1)
		ok(b, s.Put(b.Context(), "a", bytes.NewReader(p), benchBytes))
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b, memstore.New(), 1)
	ok(b, s.Create(b.Context(), "a", content(benchBytes)))
	for name, n := range map[string]int64{"block": 4 << 10, "all": benchBytes} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Get(b.Context(), "a", (benchBytes-n)/2, n)
				ok(b, err)
			}
		})
	}
}
