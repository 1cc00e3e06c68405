// Package folder is the names of the files in the folder of a database: what a name says, the name
// of a file, the list of what is there, and the lock file. The folder itself, an open directory, is
// a [vfs.Folder].
//
//	LOCK                  locked by the process that writes
//	MANIFEST-000012       a manifest
//	MANIFEST-000012.copy  the copy of that manifest
//	000013.log            a log segment
//	000014.table          a table
//	000015.values         a value file
//	UNFINISHED-BACKUP     says that the first backup into the folder is not complete
//	CLAIM-000016          says which claim the writer of a database in object storage made with it
//	KEY-000017            the key of an encrypted database, encrypted with the user's
//	CACHE                 a folder with what was read of files that are only in object storage
//
// Numbers are decimal, with leading zeros to at least six digits. One counter numbers all files,
// and no two names have the same kind and number. The package does not look into files, and does
// not know which of them are needed. A [Listing] is immutable; all functions are safe for
// concurrent use.
package folder

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// LockName is the name of the lock file.
	LockName = "LOCK"
	// UnfinishedName is the name of the file that marks an unfinished first backup. A writer of a
	// database removes it: another backup would replace a database whose manifest is damaged.
	UnfinishedName = "UNFINISHED-BACKUP"
	// ClaimPrefix is how the names of files with claims begin. Their numbers have no part in the
	// counter.
	ClaimPrefix = "CLAIM-"
	// KeyPrefix is how the names of files with wrapped keys begin. Their numbers have no part in the
	// counter.
	KeyPrefix = "KEY-"
	// CacheName is the name of a folder that nobody needs, and that is not looked into.
	CacheName = "CACHE"
	// CacheSuffix is how the names of the files in it end.
	CacheSuffix = ".cache"
)

// Kind is what a numbered file is.
type Kind uint8

// The kinds of files.
const (
	Other        Kind = iota // not a numbered file of a database
	Manifest                 // a version of the database, and edits to it
	ManifestCopy             // of the manifest with the same number
	Log                      // a segment of the log
	Table                    // entries in key order
	Values                   // a value file
	kinds                    // how many there are
)

// String returns what people call a file of this kind.
func (k Kind) String() string {
	switch k {
	case Manifest:
		return "manifest"
	case ManifestCopy:
		return "copy of a manifest"
	case Log:
		return "log segment"
	case Table:
		return "table"
	case Values:
		return "value file"
	}
	return "other file"
}

// HoldsData reports whether files of this kind hold keys or values.
func (k Kind) HoldsData() bool { return k == Log || k == Table || k == Values }

// affixes returns what stands before and behind the number in names of the kind.
func (k Kind) affixes() (prefix, suffix string) {
	switch k {
	case Manifest:
		return "MANIFEST-", ""
	case ManifestCopy:
		return "MANIFEST-", ".copy"
	case Log:
		return "", ".log"
	case Table:
		return "", ".table"
	case Values:
		return "", ".values"
	}
	return "", ""
}

// Name returns the name of the file of this kind with the given number.
func (k Kind) Name(number uint64) string {
	prefix, suffix := k.affixes()
	return fmt.Sprintf("%s%06d%s", prefix, number, suffix)
}

// Parse returns the kind and the number of the file with the given name. Any other name is Other.
func Parse(name string) (kind Kind, number uint64) {
	for kind := Manifest; kind < kinds; kind++ {
		prefix, suffix := kind.affixes()
		digits, hasPrefix := strings.CutPrefix(name, prefix)
		digits, hasSuffix := strings.CutSuffix(digits, suffix)
		if !hasPrefix || !hasSuffix {
			continue
		}
		if number, ok := parseNumber(digits); ok {
			return kind, number
		}
	}
	return Other, 0
}

// KeyName returns the name of the file of a wrapped key with the given number.
func KeyName(number uint64) string { return fmt.Sprintf("%s%06d", KeyPrefix, number) }

// ParseKey returns the number of a file of a wrapped key; ok is false for any other name.
func ParseKey(name string) (number uint64, ok bool) {
	digits, ok := strings.CutPrefix(name, KeyPrefix)
	if !ok {
		return 0, false
	}
	return parseNumber(digits)
}

// parseNumber parses the digits in a name: six, or as many more as the number needs.
func parseNumber(digits string) (number uint64, ok bool) {
	if len(digits) < 6 || len(digits) > 6 && digits[0] == '0' {
		return 0, false
	}
	number, err := strconv.ParseUint(digits, 10, 63)
	return number, err == nil
}
