package inspect

import (
	"encoding/hex"

	"github.com/stoatdb/stoat/internal/fileheader"
	"github.com/stoatdb/stoat/internal/table"
)

// kindOf returns the kind of the file that starts with head, or "". It is not exact if one byte of
// the magic differs, or if only a footer says that the file is a table.
func (f *source) kindOf(head []byte) (kind fileheader.Kind, exact bool) {
	for _, kind := range fileheader.Kinds() {
		if wrong := differing(head, string(kind)); wrong <= 1 {
			return kind, wrong == 0
		}
	}
	if f.size >= fileheader.Size+table.FooterSize {
		footer, err := f.read(f.size-table.FooterSize, f.size)
		if err == nil && fileheader.ParseFields(footer).Kind == fileheader.Table {
			return fileheader.Table, false
		}
	}
	return "", false
}

// differing returns in how many bytes p differs from the magic. Missing bytes count as one if p has
// at least half of the magic.
func differing(p []byte, magic string) (n int) {
	for i := range min(len(p), len(magic)) {
		if p[i] != magic[i] {
			n++
		}
	}
	if len(p) < len(magic)/2 {
		return len(magic)
	}
	if len(p) < len(magic) {
		n++
	}
	return n
}

// printHeader prints the file's header, and reports whether what follows can be read.
func (f *source) printHeader(p *printer, head []byte) bool {
	if len(head) < fileheader.Size {
		p.damaged(0, "the file ends within its header; a crash cuts files off so while they are "+
			"created, and then nothing of them is needed")
		return false
	}
	h := fileheader.ParseFields(head)
	p.put(at(0).called("header").with(
		number("version", uint64(h.Version)),
		number("number", h.Number),
		word("database", hex.EncodeToString(h.Database[:])),
	))
	switch {
	case !h.Sealed:
		p.damaged(0, "checksum of the header does not match")
	case h.Newer():
		p.damaged(0, "version %d, written by a newer version of Stoat: nothing more can be read",
			h.Version)
		return false
	case !h.Current():
		p.damaged(0, "the header is not one that Stoat writes")
	}
	return true
}
