package object

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// decoder reads a payload. After an error it returns zeros.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.rest = nil
}

// number reads a uvarint in the fewest bytes.
func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || size != (bits.Len64(n|1)+6)/7 {
		d.fail("invalid number")
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// positive reads the number of a field, which is left out if it is 0.
func (d *decoder) positive() uint64 {
	n := d.number()
	if n == 0 {
		d.fail("a field is 0")
	}
	return n
}

// count reads the number of items that follow, each of at least minBytes.
func (d *decoder) count(minBytes int) int {
	n := d.number()
	if n > uint64(len(d.rest)/minBytes) {
		d.fail("%d items do not fit into %d bytes", n, len(d.rest))
		return 0
	}
	return int(n)
}

// items reads the number of items of a field, which is left out if there are none.
func (d *decoder) items(minBytes int) int {
	n := d.count(minBytes)
	if n == 0 {
		d.fail("a field is empty")
	}
	return n
}

// bytes reads a length and that many bytes.
func (d *decoder) bytes() []byte {
	n := d.count(1)
	if d.err != nil {
		return nil
	}
	p := d.rest[:n:n]
	d.rest = d.rest[n:]
	return p
}

// fixed reads n bytes.
func (d *decoder) fixed(n int) []byte {
	if len(d.rest) < n {
		d.fail("%d bytes are missing", n-len(d.rest))
		return make([]byte, n)
	}
	p := d.rest[:n:n]
	d.rest = d.rest[n:]
	return p
}

func (d *decoder) id() ID { return ID(d.fixed(len(ID{}))) }

func (d *decoder) word() uint64 { return binary.LittleEndian.Uint64(d.fixed(8)) }

// end requires that everything was read.
func (d *decoder) end() error {
	if d.err == nil && len(d.rest) > 0 {
		d.err = errors.New("more bytes follow than there should be")
	}
	return d.err
}

func appendBytes(dst, p []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(p))), p...)
}

func appendUvarints(dst []byte, numbers ...uint64) []byte {
	for _, n := range numbers {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}
