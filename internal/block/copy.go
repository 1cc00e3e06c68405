package block

import "encoding/binary"

// Copy is a block as it lies in a table, verified and not decoded.
type Copy struct {
	Keys       Keys   // parsed
	KeyPart    []byte // as it lies there
	Values     []byte // the value block as it lies there
	ValueBytes int    // of all values, decoded
	Longest    int    // the length of the longest value
	Compressed bool
}

// CheckCopy verifies a key part and a value block that belong together. The copy refers to both,
// which must not change.
func CheckCopy(keyPart, values []byte) (Copy, error) {
	keys, err := ParseKeys(keyPart)
	if err != nil {
		return Copy{}, err
	}
	h, lengths, _, err := parseValueHeader(values, keys.Len())
	if err != nil {
		return Copy{}, err
	}
	return Copy{
		Keys: keys, KeyPart: keyPart, Values: values, ValueBytes: int(h.size),
		Longest: h.longest(lengths), Compressed: h.codec == codecZstd,
	}, nil
}

// longest returns the length of the longest value.
func (h valueHeader) longest(lengths []byte) int {
	most := uint32(0)
	for i := range h.count {
		switch h.width {
		case 1:
			most = max(most, uint32(lengths[i]))
		case 2:
			most = max(most, uint32(binary.LittleEndian.Uint16(lengths[2*i:])))
		case 4:
			most = max(most, binary.LittleEndian.Uint32(lengths[4*i:]))
		}
	}
	return int(h.shortest) + int(most)
}

// Puts reports whether every entry is a put with its value that does not expire.
func (k *Keys) Puts() bool { return k.kinds == nil && k.expiries == nil }

// Bytes returns the length of all keys together.
func (k *Keys) Bytes() int {
	if k.variable {
		return k.count*len(k.prefix) + len(k.rest)
	}
	return k.count * (len(k.prefix) + k.headBytes + k.restBytes + len(k.suffix))
}

// Append appends key i.
func (k *Keys) Append(dst []byte, i int) []byte {
	dst = append(dst, k.prefix...)
	if k.variable {
		return append(dst, k.middle(i)...)
	}
	head := (k.base + k.delta(i)) << (64 - 8*uint(k.headBytes))
	for range k.headBytes {
		dst = append(dst, byte(head>>56))
		head <<= 8
	}
	if k.restBytes > 0 {
		dst = append(dst, k.restAt(i)...)
	}
	return append(dst, k.suffix...)
}
