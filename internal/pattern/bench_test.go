package pattern

import "testing"

// forKinds runs a benchmark for each kind of values.
func forKinds(b *testing.B, run func(b *testing.B, d *Dictionary, values [][]byte)) {
	for _, k := range valueKinds {
		b.Run(k.name, func(b *testing.B) {
			values := k.values(2000)
			d := train(b, values)
			size := 0
			for _, value := range values {
				size += len(value)
			}
			b.SetBytes(int64(size / len(values)))
			run(b, d, values)
		})
	}
}

func BenchmarkEncoder_Append(b *testing.B) {
	forKinds(b, func(b *testing.B, d *Dictionary, values [][]byte) {
		e := d.NewEncoder()
		var encoded []byte
		for i := 0; b.Loop(); i++ {
			encoded = e.Append(encoded[:0], values[i%len(values)])
		}
	})
}

func BenchmarkDictionary_Decode(b *testing.B) {
	forKinds(b, func(b *testing.B, d *Dictionary, values [][]byte) {
		e := d.NewEncoder()
		encoded, room := make([][]byte, len(values)), 0
		for i, value := range values {
			encoded[i] = e.Append(nil, value)
			room = max(room, len(value))
		}
		value := make([]byte, 0, room)
		for i := 0; b.Loop(); i++ {
			value, _ = d.Decode(value[:0], encoded[i%len(values)])
		}
	})
}

func BenchmarkTrain(b *testing.B) {
	forKinds(b, func(b *testing.B, _ *Dictionary, values [][]byte) {
		for b.Loop() {
			train(b, values)
		}
	})
}
