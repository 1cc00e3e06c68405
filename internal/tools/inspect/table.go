package inspect

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stoatdb/stoat/internal/block"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/table"
)

// tablePrinter prints one table.
type tablePrinter struct {
	*printer
	layout *table.Layout
	blocks bool // entries too
	zstd   block.Decompressor

	entries, tombstones uint64
	intact              int    // blocks
	last                []byte // key of the blocks so far
}

// printTable prints the sections of a table, and each block.
func (f *source) printTable(p *printer) error {
	layout, damage := table.ReadLayout(f, f.path, table.Want{})
	t := &tablePrinter{printer: p, layout: layout, blocks: f.blocks}
	for _, d := range damage {
		if d.At > 0 || !errors.Is(d.Err, corrupt.Err) { // else the header is known to be damaged
			t.note(d.At, d.Err, "")
		}
	}
	if layout.Index == 0 {
		return nil
	}
	t.printSections()
	if len(layout.Blocks) == 0 {
		p.put(note("where the blocks are, only the index says"))
		return nil
	}
	for i := range layout.Blocks {
		if err := t.printBlock(i); err != nil {
			return err
		}
	}
	if t.intact == len(layout.Blocks) &&
		(t.entries != layout.Entries || t.tombstones != layout.Tombstones) {
		p.damaged(layout.Index, "the index says %d entries and %d tombstones, the blocks have %d and %d",
			layout.Entries, layout.Tombstones, t.entries, t.tombstones)
	}
	return nil
}

// note prints what is wrong with what is named, at an offset. That a format is not known is no
// news behind the header.
func (t *tablePrinter) note(at int64, err error, what string) {
	var damage *corrupt.Error
	switch {
	case errors.As(err, &damage):
		t.damaged(damage.Offset, "%s%s", what, damage.Reason)
	case !errors.Is(err, corrupt.ErrFormat):
		t.damaged(at, "%s%v", what, err)
	}
}

// printSections prints the sections in the order of the file, and what the index says.
func (t *tablePrinter) printSections() {
	l := t.layout
	section := func(what string, from, to int64, fields ...field) {
		t.put(at(from).called(what).with(count(uint64(to-from), "byte")).with(fields...))
	}
	section("value blocks", fileheader.Size, l.Keys)
	section("key section", l.Keys, l.Filter)
	if l.Filter < l.Index {
		section("filter", l.Filter, l.Index)
	}
	section("index", l.Index, l.Footer, some(uint64(len(l.Blocks)), "block"),
		some(uint64(len(l.Spans)), "span"))
	if len(l.Blocks) > 0 {
		t.put(inner(1).called("properties").with(count(l.Entries, "entry"),
			count(l.Tombstones, "tombstone"), number("raw bytes", l.RawBytes),
			mark("compressed", l.Compressed)))
	}
	for _, s := range l.Spans {
		t.put(inner(1).called("span").with(number("first block", uint64(s.First)),
			key("first", s.Key), number("prefix bytes", uint64(s.Prefix))))
	}
	section("footer", l.Footer, l.Size)
}

// printBlock prints a block, of which the keys or the values may be damaged.
func (t *tablePrinter) printBlock(i int) error {
	place := t.layout.Blocks[i]
	keys, keysErr := t.layout.ReadKeys(i)
	n := keys.Len()
	if keysErr != nil {
		n = -1
	}
	values, valuesErr := t.layout.ReadValues(i, n, &t.zstd)
	line := at(place.Values).called("block").with(ordinal("%d", uint64(i)))
	if valuesErr == nil {
		line = line.with(word("codec", values.Codec.String()))
	}
	line = line.with(number("value bytes", uint64(place.ValueBytes)),
		number("keys at", uint64(place.Keys)), number("key bytes", uint64(place.KeyBytes)))
	var flat block.Column
	if keysErr == nil {
		flat = keys.Expand()
		line = line.with(count(uint64(n), "entry"), key("first", flat.At(0)))
	}
	if valuesErr == nil && values.Codec == block.Pattern {
		line = line.with(number("dictionary", values.Encoded.Dictionary))
	}
	t.put(line)
	if keysErr == nil && valuesErr == nil {
		t.intact++
	}
	if keysErr != nil {
		t.note(place.Keys, keysErr, fmt.Sprintf("keys of block %d: ", i))
	}
	if valuesErr != nil {
		t.note(place.Values, valuesErr, fmt.Sprintf("values of block %d: ", i))
	}
	if keysErr == nil {
		t.printEntries(i, &keys, &flat, &values, valuesErr == nil)
	}
	return t.err
}

// printEntries counts the entries of a block, checks their order, and prints them if that is
// wanted.
func (t *tablePrinter) printEntries(
	i int, keys *block.Keys, flat *block.Column, values *block.Values, hasValues bool,
) {
	t.entries += uint64(keys.Len())
	for j := range keys.Len() {
		k := flat.At(j)
		if t.last != nil && bytes.Compare(t.last, k) >= 0 {
			t.damaged(t.layout.Blocks[i].Keys, "%s follows %s", keyText(k), keyText(t.last))
		}
		t.last = k
		e := keyspace.Entry{Kind: keys.Kind(j), Until: keys.Until(j)}
		if e.Kind == keyspace.KindDelete {
			t.tombstones++
		}
		switch {
		case !t.blocks:
			continue
		case !hasValues:
			t.put(inner(1).called("entry").with(key("", k), prose("value", "value damaged")))
			continue
		case values.Codec == block.Pattern:
			values.Encoded.Entry(j, &e)
		default:
			e.Value = values.Plain.At(j)
		}
		size := e.Size()
		if e.Dictionary != 0 {
			e.Value = nil // encoded: not what it means
		}
		t.put(entry(1, k, e, size))
	}
}
