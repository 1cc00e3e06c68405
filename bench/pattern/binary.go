package main

import "encoding/binary"

// counters returns fixed-width structs with small numbers, as a Go or C program writes them.
func counters() ([][]byte, error) {
	r := newRandom(3)
	values := make([][]byte, 40_000)
	for i := range values {
		v := append([]byte(nil), "STAT"...)
		v = binary.LittleEndian.AppendUint16(v, 2)
		v = binary.LittleEndian.AppendUint16(v, uint16(r.IntN(4)))
		v = binary.LittleEndian.AppendUint64(v, uint64(i))
		v = binary.LittleEndian.AppendUint64(v, 1_700_000_000_000+uint64(i)*1000+r.Uint64N(1000))
		for range 6 {
			v = binary.LittleEndian.AppendUint64(v, uint64(r.ExpFloat64()*1000))
		}
		v = binary.LittleEndian.AppendUint32(v, r.Uint32())
		values[i] = v
	}
	return values, nil
}

// flows returns records of network connections in network byte order.
func flows() ([][]byte, error) {
	r := newRandom(4)
	values := make([][]byte, 50_000)
	for i := range values {
		v := binary.BigEndian.AppendUint32(nil, 10<<24|uint32(r.IntN(1<<12)))
		v = binary.BigEndian.AppendUint32(v, 10<<24|uint32(r.IntN(1<<12)))
		v = binary.BigEndian.AppendUint16(v, uint16(32768+r.IntN(28000)))
		v = binary.BigEndian.AppendUint16(v, []uint16{443, 443, 80, 53, 22}[r.IntN(5)])
		v = binary.BigEndian.AppendUint32(v, uint32(1+r.ExpFloat64()*20))
		v = binary.BigEndian.AppendUint64(v, uint64(60+r.ExpFloat64()*20_000))
		v = binary.BigEndian.AppendUint32(v, 1_767_225_600+uint32(i))
		v = binary.BigEndian.AppendUint32(v, uint32(r.ExpFloat64()*5000))
		v = append(v, []byte{6, 6, 6, 17}[r.IntN(4)], byte(r.IntN(2))<<1, 0, 0)
		values[i] = v
	}
	return values, nil
}

// envelopes returns records of a log of signed entries, encoded like protocol buffers: the fields
// are tags, lengths and varints, and most of the bytes are hashes and a signature.
func envelopes() ([][]byte, error) {
	r := newRandom(5)
	field := func(v []byte, tag byte, n int) []byte {
		v = append(v, tag, byte(n))
		for range n {
			v = append(v, byte(r.Uint32()))
		}
		return v
	}
	values := make([][]byte, 12_000)
	for i := range values {
		v := field([]byte{0x08, 0x02}, 0x12, 32)
		v = field(v, 0x1A, 32)
		v = binary.AppendUvarint(append(v, 0x20), uint64(i))
		v = binary.AppendUvarint(append(v, 0x28), 1_767_225_600_000+uint64(i)*977)
		body := pick(r, "created", "renamed", "removed", "shared", "commented")
		v = append(append(v, 0x32, byte(len(body))), body...)
		values[i] = field(v, 0x3A, 64)
	}
	return values, nil
}

func randomBytes() ([][]byte, error) {
	r := newRandom(6)
	values := make([][]byte, 4000)
	for i := range values {
		values[i] = make([]byte, 1000)
		for j := range values[i] {
			values[i][j] = byte(r.Uint32())
		}
	}
	return values, nil
}
