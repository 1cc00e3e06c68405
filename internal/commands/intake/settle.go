package intake

import "github.com/stoatdb/stoat"

// compactsFrom is how many bytes must be left for a load to compact them. Close compacts less by
// itself.
const compactsFrom = 512 << 10

// LeavesMuch reports whether a load has left about half of the database to compact. Then it should
// call [stoat.DB.Compact] before Close: until a process that writes stays open for long enough,
// copies of the files would be large, and commands that only read would be slow.
func LeavesMuch(db *stoat.DB) bool {
	stats := db.Stats()
	return uint64(stats.MemtableBytes)+stats.PendingBytes >= max(stats.TableBytes/2, compactsFrom)
}
