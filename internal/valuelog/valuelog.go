// Package valuelog is values that lie outside of tables: pointers to them, the files that hold them
// in key order, and reading them.
//
// A large value is written once, in the log segment of its commit, and tables hold a [Pointer] to
// it. When too much of a segment is garbage, or its values lie too scattered for scans, a
// compaction writes the live ones with a [Writer] to a value file. A [File] reads the values of
// either. A value file, with all integers little-endian, is
//
//	 0  magic     "STOATVAL"
//	 8  version   u32, 1
//	12  zero      u32
//	16  number    u64, the number in the file's name
//	24  database  16 bytes, the database's identity
//	40  zero      u32
//	44  checksum  u32, CRC-32C of the 44 bytes before
//	48  values    one after the other
//
// and says nothing about where a value starts or what it should be: that is in the pointers. What a
// pointer has to say about a value is the same for both kinds of files.
//
// Files are read through a map where the platform has one. A value is verified by the checksum in
// its pointer when it is first brought in. Files are safe for concurrent use, writers are not.
// Nothing needs to be closed: a file is let go when its File is unreachable. The package chooses no
// values and no files, and knows nothing of which values are live.
package valuelog

import (
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/vfs"
)

const nameSuffix = ".values"

// Name returns the name of the value file with the given number.
func Name(number uint64) string { return fmt.Sprintf("%06d%s", number, nameSuffix) }

// ParseName returns the number of the value file that a file name stands for.
func ParseName(name string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, nameSuffix)
	if !ok {
		return 0, false
	}
	return vfs.ParseNumber(digits)
}
