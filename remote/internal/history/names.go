package history

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/internal/checksum"
	"github.com/stoatdb/stoat/internal/folder"
)

const (
	logPrefix   = "log/"
	statePrefix = "state/"
)

// logName returns the name of log object n.
func logName(n uint64) string { return fmt.Sprintf("%s%016x", logPrefix, n) }

// stateName returns the name of the state after log object n. The newest is the first in a listing.
func stateName(n uint64) string { return fmt.Sprintf("%s%016x", statePrefix, 1<<63-1-n) }

// DataName returns the name of the object that holds a file of the database.
func DataName(kind folder.Kind, number uint64) string {
	var p [8]byte
	binary.LittleEndian.PutUint64(p[:], number)
	return fmt.Sprintf("data/%02x/%s", byte(checksum.Of(p[:])), kind.Name(number))
}
