package inspect

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/stoatdb/stoat/internal/checksum"
)

// Magics of the files that have one, and the header that all of them start with.
const (
	magicLog      = "STOATLOG"
	magicManifest = "STOATMAN"
	magicTable    = "STOATTAB"
	magicValues   = "STOATVAL"

	headerBytes  = 48
	versionAt    = 8
	numberAt     = 16
	databaseAt   = 24
	sumAt        = 44
	knownVersion = 1

	tableFooterBytes = 88
)

// kinds names what the magics stand for. It is immutable.
var kinds = map[string]string{
	magicLog:      "log segment",
	magicManifest: "manifest",
	magicTable:    "table",
	magicValues:   "value file",
}

// kind returns the magic of the file that starts with head, or "" if it is none. It is not exact if
// one byte of it differs, or if only a footer at the end says that the file is a table.
func (f *source) kind(head []byte) (magic string, exact bool) {
	for _, magic := range []string{magicLog, magicManifest, magicTable, magicValues} {
		if wrong := differing(head, magic); wrong <= 1 {
			return magic, wrong == 0
		}
	}
	if f.size >= headerBytes+tableFooterBytes {
		at := f.size - tableFooterBytes
		if p, err := f.read(at, at+int64(len(magicTable))); err == nil && string(p) == magicTable {
			return magicTable, false
		}
	}
	return "", false
}

// differing returns how many bytes of the magic are not how p starts. Those behind p's end count
// one, if p has half of them.
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
	if len(head) < headerBytes {
		p.damaged(0, "the file ends within its header; a crash cuts files off so while they are "+
			"created, and then nothing of them is needed")
		return false
	}
	version := binary.LittleEndian.Uint32(head[versionAt:])
	p.put(at(0).called("header").with(
		number("version", uint64(version)),
		number("number", binary.LittleEndian.Uint64(head[numberAt:])),
		word("database", hex.EncodeToString(head[databaseAt:databaseAt+16])),
	))
	sum := checksum.Of(head[:sumAt])
	switch {
	case sum != binary.LittleEndian.Uint32(head[sumAt:]):
		p.damaged(0, "checksum of the header does not match")
	case version > knownVersion:
		p.damaged(0, "version %d, written by a newer version of Stoat: nothing more can be read",
			version)
		return false
	case version < knownVersion || binary.LittleEndian.Uint32(head[12:])|
		binary.LittleEndian.Uint32(head[40:]) != 0:
		p.damaged(0, "the header is not one that Stoat writes")
	}
	return true
}
