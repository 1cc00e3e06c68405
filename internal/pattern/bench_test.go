package pattern

import "testing"

// forRecords runs a benchmark for each kind of records, with one of them after the other.
func forRecords(b *testing.B, run func(b *testing.B, d *Dictionary, values [][]byte)) {
	for _, k := range kindsOfRecords {
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
	forRecords(b, func(b *testing.B, d *Dictionary, values [][]byte) {
		e := d.NewEncoder()
		var record []byte
		for i := 0; b.Loop(); i++ {
			record = e.Append(record[:0], values[i%len(values)])
		}
	})
}

func BenchmarkDictionary_Decode(b *testing.B) {
	forRecords(b, func(b *testing.B, d *Dictionary, values [][]byte) {
		e := d.NewEncoder()
		records, room := make([][]byte, len(values)), 0
		for i, value := range values {
			records[i] = e.Append(nil, value)
			room = max(room, len(value))
		}
		value := make([]byte, 0, room)
		for i := 0; b.Loop(); i++ {
			value, _ = d.Decode(value[:0], records[i%len(values)])
		}
	})
}

func BenchmarkTrain(b *testing.B) {
	forRecords(b, func(b *testing.B, _ *Dictionary, values [][]byte) {
		for b.Loop() {
			train(b, values)
		}
	})
}
