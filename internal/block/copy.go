package block

// Copy is a block as it is stored in a table, verified and not decoded.
type Copy struct {
	Keys       Keys   // parsed
	KeyPart    []byte // as it is stored
	Values     []byte // the value block as it is stored
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
