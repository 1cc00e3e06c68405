package block

// Copy is a block as it lies in a table, verified and not decoded.
type Copy struct {
	Keys       Keys   // parsed
	KeyPart    []byte // as it lies there
	Values     []byte // the value block as it lies there
	ValueBytes int    // of all values, decoded
	Longest    int    // the length of the longest value
	Codec      Codec
	Dictionary uint64 // the number of the dictionary that the values are encoded with, or 0
}

// CheckCopy verifies a key part and a value block that belong together. The copy refers to both,
// which must not change.
func CheckCopy(keyPart, values []byte) (Copy, error) {
	keys, err := ParseKeys(keyPart)
	if err != nil {
		return Copy{}, err
	}
	codec, l, r, err := parseHeader(values, keys.Len())
	if err != nil {
		return Copy{}, err
	}
	c := Copy{
		Keys: keys, KeyPart: keyPart, Values: values, ValueBytes: l.size, Longest: l.longest(),
		Codec: codec,
	}
	if codec == Pattern {
		e, err := parseEncoded(&r, l)
		if err != nil {
			return Copy{}, err
		}
		c.Dictionary = e.Dictionary
	}
	return c, nil
}

// longest returns the greatest length.
func (l *lengths) longest() int {
	most := uint64(0)
	for i := range l.count {
		most = max(most, l.at(i))
	}
	return int(most)
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
