package history

import "fmt"

const (
	logPrefix   = "log/"
	statePrefix = "state/"
)

// logName returns the name of log object n.
func logName(n uint64) string { return fmt.Sprintf("%s%016x", logPrefix, n) }

// stateName returns the name of the state after log object n. The newest is the first in a listing.
func stateName(n uint64) string { return fmt.Sprintf("%s%016x", statePrefix, 1<<63-1-n) }
