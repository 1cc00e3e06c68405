package table

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/fileheader"
)

// FooterSize is the length of a table's footer, with which the file ends.
const FooterSize = 88

const (
	fenceBytes      = 8
	placeBytes      = 16
	spanBytes       = 12
	propertiesBytes = 32
)

func headerOf(number uint64, database [16]byte) fileheader.Header {
	return fileheader.New(fileheader.Table, number, database)
}

// HeaderInFooter returns the header that the footer p of a table has a copy of. ok is false if p is
// not a valid footer.
func HeaderInFooter(p []byte) (h fileheader.Header, ok bool) {
	h = fileheader.ParseFields(p).Header
	return h, len(p) == FooterSize && h.Kind == fileheader.Table && sealed(p)
}

// seal appends the checksum of p.
func seal(p []byte) []byte { return binary.LittleEndian.AppendUint32(p, checksum.Of(p)) }

// sealed reports whether p ends with the checksum of what precedes it.
func sealed(p []byte) bool {
	n := len(p) - checksum.Size
	return checksum.Of(p[:n]) == binary.LittleEndian.Uint32(p[n:])
}

// sumAtEnd returns the checksum that p ends with.
func sumAtEnd(p []byte) uint32 { return binary.LittleEndian.Uint32(p[len(p)-checksum.Size:]) }

// checkPart returns an error unless a part of a block ends with the checksum that the index has for
// it. The part's parser verifies that checksum.
func checkPart(p []byte, sum uint32) error {
	if len(p) < checksum.Size || sumAtEnd(p) != sum {
		return errors.New("checksum is not the one in the index")
	}
	return nil
}

// footer says where the sections of the file lie. Each ends where the next starts, the last one
// where the footer starts.
type footer struct {
	keys, filter, index uint64 // offsets
	blocks, spans       uint32
	filterSum, indexSum uint32 // checksums of whole sections
}

func (f footer) append(dst []byte, h fileheader.Header) []byte {
	start := len(dst)
	dst = append(dst, h.Prefix()...)
	for _, offset := range [...]uint64{f.keys, f.filter, f.index} {
		dst = binary.LittleEndian.AppendUint64(dst, offset)
	}
	for _, n := range [...]uint32{f.blocks, f.spans, f.filterSum, f.indexSum, 0} {
		dst = binary.LittleEndian.AppendUint32(dst, n)
	}
	return append(dst[:start], seal(dst[start:])...)
}

func parseFooter(p []byte, h fileheader.Header, size uint64) (footer, error) {
	const sections = fileheader.PrefixSize
	if !sealed(p) {
		return footer{}, errors.New("checksum of the footer does not match")
	}
	if string(p[:sections]) != string(h.Prefix()) {
		return footer{}, errors.New("footer belongs to another file")
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(p[sections+at:]) }
	u32 := func(at int) uint32 { return binary.LittleEndian.Uint32(p[sections+24+at:]) }
	f := footer{
		keys: u64(0), filter: u64(8), index: u64(16),
		blocks: u32(0), spans: u32(4), filterSum: u32(8), indexSum: u32(12),
	}
	end := size - FooterSize
	ordered := fileheader.Size <= f.keys && f.keys <= f.filter && f.filter <= f.index && f.index <= end
	if !ordered || u32(16) != 0 {
		return footer{}, errors.New("sections are not where they can be")
	}
	least := uint64(f.blocks)*(fenceBytes+placeBytes) + uint64(f.spans)*spanBytes + propertiesBytes
	if f.spans < 1 || f.spans > f.blocks || f.blocks > math.MaxInt32 || least > end-f.index {
		return footer{}, fmt.Errorf("%d blocks and %d spans do not fit", f.blocks, f.spans)
	}
	return f, nil
}

// properties is what a table says about itself.
type properties struct {
	entries, tombstones, rawBytes uint64
	compressed                    bool
}

func (p properties) append(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, p.entries)
	dst = binary.LittleEndian.AppendUint64(dst, p.tombstones)
	dst = binary.LittleEndian.AppendUint64(dst, p.rawBytes)
	flags := uint64(0)
	if p.compressed {
		flags = 1
	}
	return binary.LittleEndian.AppendUint64(dst, flags)
}

func parseProperties(p []byte) (properties, error) {
	if len(p) != propertiesBytes {
		return properties{}, fmt.Errorf("properties have %d bytes", len(p))
	}
	u64 := func(at int) uint64 { return binary.LittleEndian.Uint64(p[at:]) }
	if u64(24) > 1 || u64(8) > u64(0) {
		return properties{}, fmt.Errorf("properties are % x", p)
	}
	return properties{u64(0), u64(8), u64(16), u64(24) == 1}, nil
}
