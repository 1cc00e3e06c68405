package pattern

// DecodeHead is Decode, but may leave out what is behind the first n bytes of the value. dst must
// have room for all of it.
func (d *Dictionary) DecodeHead(dst, encoded []byte, n int) ([]byte, error) {
	return d.Decode(dst, encoded)
}
