package raftstore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stoatdb/stoat"
)

// An entry is stored under its index, 8 bytes in big endian. Its value is a byte of flags, the
// type, and the term as a uvarint; with hasTime, the time as seconds since 1970 (varint) and
// nanoseconds (uvarint); with hasExtensions, their length (uvarint) and bytes; and the data, up to
// the end.
const (
	hasTime       = 1 << 0
	hasExtensions = 1 << 1
)

// indexKey is the key of an entry.
type indexKey [8]byte

func keyOf(index uint64) (key indexKey) {
	binary.BigEndian.PutUint64(key[:], index)
	return key
}

// appendLog appends the value of an entry.
func appendLog(dst []byte, log *raft.Log) []byte {
	flags := byte(0)
	if !log.AppendedAt.IsZero() {
		flags |= hasTime
	}
	if len(log.Extensions) > 0 {
		flags |= hasExtensions
	}
	dst = append(dst, flags, byte(log.Type))
	dst = binary.AppendUvarint(dst, log.Term)
	if flags&hasTime != 0 {
		dst = binary.AppendVarint(dst, log.AppendedAt.Unix())
		dst = binary.AppendUvarint(dst, uint64(log.AppendedAt.Nanosecond()))
	}
	if flags&hasExtensions != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(log.Extensions)))
		dst = append(dst, log.Extensions...)
	}
	return append(dst, log.Data...)
}

// parseLog sets log to the entry of a value, whose memory it goes on to use. Empty data and
// extensions become nil.
func parseLog(index uint64, value []byte, log *raft.Log) error {
	p := parser{rest: value}
	flags := p.byte()
	*log = raft.Log{Index: index, Type: raft.LogType(p.byte()), Term: p.uvarint()}
	if flags&hasTime != 0 {
		seconds, nanoseconds := p.varint(), p.uvarint()
		p.failed = p.failed || nanoseconds >= uint64(time.Second)
		log.AppendedAt = time.Unix(seconds, int64(nanoseconds%uint64(time.Second))).UTC()
	}
	if flags&hasExtensions != 0 {
		n := p.uvarint()
		log.Extensions = p.bytes(n)
		p.failed = p.failed || n == 0
	}
	if p.failed || flags&^(hasTime|hasExtensions) != 0 {
		return fmt.Errorf("entry %d of the raft log: %w", index, stoat.ErrCorrupt)
	}
	if len(p.rest) > 0 {
		log.Data = p.rest
	}
	return nil
}

// parser reads a value from its beginning. After a failure, what it returns is zero.
type parser struct {
	rest   []byte
	failed bool
}

func (p *parser) byte() byte {
	if b := p.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (p *parser) bytes(n uint64) []byte {
	if p.failed = p.failed || n > uint64(len(p.rest)); p.failed {
		return nil
	}
	b := p.rest[:n:n]
	p.rest = p.rest[n:]
	return b
}

func (p *parser) uvarint() uint64 {
	x, n := binary.Uvarint(p.rest)
	p.skip(n)
	return x
}

func (p *parser) varint() int64 {
	x, n := binary.Varint(p.rest)
	p.skip(n)
	return x
}

func (p *parser) skip(n int) {
	if p.failed = p.failed || n <= 0; !p.failed {
		p.rest = p.rest[n:]
	}
}

// parseNumber returns a number that was stored in 8 bytes.
func parseNumber(key, value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("%q holds %d bytes and no number of 8: %w", key, len(value),
			stoat.ErrCorrupt)
	}
	return binary.BigEndian.Uint64(value), nil
}

// rangeOf returns the range of the keys of entries first to last, both included.
func rangeOf(first, last uint64) stoat.Range {
	start := keyOf(first)
	r := stoat.Range{Start: start[:]}
	if last < math.MaxUint64 {
		end := keyOf(last + 1)
		r.End = bytes.Clone(end[:])
	}
	return r
}
