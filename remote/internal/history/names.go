package history

import (
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/folder"
)

const (
	logPrefix   = "log/"
	statePrefix = "state/"
	// DataPrefix is how the names of the objects begin that hold files.
	DataPrefix = "data/"
)

// logName returns the name of log object n.
func logName(n uint64) string { return fmt.Sprintf("%s%016x", logPrefix, n) }

// stateName returns the name of the state after log object n. The newest is the first in a listing.
func stateName(n uint64) string { return fmt.Sprintf("%s%016x", statePrefix, 1<<63-1-n) }

// DataName returns the name of the object that holds a file of the database.
func DataName(kind folder.Kind, number uint64) string {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], number)
	return fmt.Sprintf("%s%02x/%s", DataPrefix, byte(checksum.Of(p[:])), kind.Name(number))
}

// stateNumber returns the number of the log object after which the state with a name is.
func stateNumber(name string) (n uint64, ok bool) {
	digits, isState := strings.CutPrefix(name, statePrefix)
	rest, err := strconv.ParseUint(digits, 16, 64)
	n = 1<<63 - 1 - rest
	return n, isState && err == nil && name == stateName(n)
}

// logNumber returns the number of the log object with a name.
func logNumber(name string) (n uint64, ok bool) {
	digits, isLog := strings.CutPrefix(name, logPrefix)
	n, err := strconv.ParseUint(digits, 16, 64)
	return n, isLog && err == nil && name == logName(n)
}

// ParseData returns which file an object holds; ok is false if none has the name.
func ParseData(name string) (kind folder.Kind, number uint64, ok bool) {
	kind, number = folder.Parse(path.Base(name))
	return kind, number, kind.HoldsData() && DataName(kind, number) == name
}
