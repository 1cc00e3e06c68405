package intake

import "github.com/stoatdb/stoat"

// leavesMost is how much must be left to compact for a load to have it compacted. Close compacts
// less by itself.
const leavesMost = 512 << 10

// LeavesMuch reports whether a load has left about half of the database to compact. Then it should
// call [stoat.DB.Compact] before Close: until a process that writes stays open for long enough,
// copies of the files would be large, and commands that only read would be slow.
func LeavesMuch(db *stoat.DB) bool {
	stats := db.Stats()
	return uint64(stats.MemtableBytes)+stats.PendingBytes >= max(stats.TableBytes/2, leavesMost)
}
