package boltcompat

import (
	"sync/atomic"
	"time"
)

// TxStats counts what transactions have done. The methods are safe for concurrent use.
type TxStats struct {
	PageCount     int64         // number of page allocations; always 0
	PageAlloc     int64         // bytes allocated for pages; always 0
	CursorCount   int64         // number of cursors made
	NodeCount     int64         // number of nodes; always 0
	NodeDeref     int64         // number of nodes dereferenced; always 0
	Rebalance     int64         // number of rebalances; always 0
	RebalanceTime time.Duration // time for rebalances; always 0
	Split         int64         // number of splits; always 0
	Spill         int64         // number of spills; always 0
	SpillTime     time.Duration // time for spills; always 0
	Write         int64         // number of commits
	WriteTime     time.Duration // time of commits after Begin
}

// Sub returns the difference to earlier statistics.
func (s *TxStats) Sub(other *TxStats) TxStats {
	var diff TxStats
	diff.PageCount = s.GetPageCount() - other.GetPageCount()
	diff.PageAlloc = s.GetPageAlloc() - other.GetPageAlloc()
	diff.CursorCount = s.GetCursorCount() - other.GetCursorCount()
	diff.NodeCount = s.GetNodeCount() - other.GetNodeCount()
	diff.NodeDeref = s.GetNodeDeref() - other.GetNodeDeref()
	diff.Rebalance = s.GetRebalance() - other.GetRebalance()
	diff.RebalanceTime = s.GetRebalanceTime() - other.GetRebalanceTime()
	diff.Split = s.GetSplit() - other.GetSplit()
	diff.Spill = s.GetSpill() - other.GetSpill()
	diff.SpillTime = s.GetSpillTime() - other.GetSpillTime()
	diff.Write = s.GetWrite() - other.GetWrite()
	diff.WriteTime = s.GetWriteTime() - other.GetWriteTime()
	return diff
}

// add adds other statistics, of a transaction: the numbers left out are always 0.
func (s *TxStats) add(other *TxStats) {
	s.IncCursorCount(other.GetCursorCount())
	s.IncWrite(other.GetWrite())
	s.IncWriteTime(other.GetWriteTime())
}

// GetPageCount returns PageCount.
func (s *TxStats) GetPageCount() int64 { return atomic.LoadInt64(&s.PageCount) }

// IncPageCount adds to PageCount and returns the sum.
func (s *TxStats) IncPageCount(delta int64) int64 { return atomic.AddInt64(&s.PageCount, delta) }

// GetPageAlloc returns PageAlloc.
func (s *TxStats) GetPageAlloc() int64 { return atomic.LoadInt64(&s.PageAlloc) }

// IncPageAlloc adds to PageAlloc and returns the sum.
func (s *TxStats) IncPageAlloc(delta int64) int64 { return atomic.AddInt64(&s.PageAlloc, delta) }

// GetCursorCount returns CursorCount.
func (s *TxStats) GetCursorCount() int64 { return atomic.LoadInt64(&s.CursorCount) }

// IncCursorCount adds to CursorCount and returns the sum.
func (s *TxStats) IncCursorCount(delta int64) int64 {
	return atomic.AddInt64(&s.CursorCount, delta)
}

// GetNodeCount returns NodeCount.
func (s *TxStats) GetNodeCount() int64 { return atomic.LoadInt64(&s.NodeCount) }

// IncNodeCount adds to NodeCount and returns the sum.
func (s *TxStats) IncNodeCount(delta int64) int64 { return atomic.AddInt64(&s.NodeCount, delta) }

// GetNodeDeref returns NodeDeref.
func (s *TxStats) GetNodeDeref() int64 { return atomic.LoadInt64(&s.NodeDeref) }

// IncNodeDeref adds to NodeDeref and returns the sum.
func (s *TxStats) IncNodeDeref(delta int64) int64 { return atomic.AddInt64(&s.NodeDeref, delta) }

// GetRebalance returns Rebalance.
func (s *TxStats) GetRebalance() int64 { return atomic.LoadInt64(&s.Rebalance) }

// IncRebalance adds to Rebalance and returns the sum.
func (s *TxStats) IncRebalance(delta int64) int64 { return atomic.AddInt64(&s.Rebalance, delta) }

// GetRebalanceTime returns RebalanceTime.
func (s *TxStats) GetRebalanceTime() time.Duration { return load(&s.RebalanceTime) }

// IncRebalanceTime adds to RebalanceTime and returns the sum.
func (s *TxStats) IncRebalanceTime(delta time.Duration) time.Duration {
	return increase(&s.RebalanceTime, delta)
}

// GetSplit returns Split.
func (s *TxStats) GetSplit() int64 { return atomic.LoadInt64(&s.Split) }

// IncSplit adds to Split and returns the sum.
func (s *TxStats) IncSplit(delta int64) int64 { return atomic.AddInt64(&s.Split, delta) }

// GetSpill returns Spill.
func (s *TxStats) GetSpill() int64 { return atomic.LoadInt64(&s.Spill) }

// IncSpill adds to Spill and returns the sum.
func (s *TxStats) IncSpill(delta int64) int64 { return atomic.AddInt64(&s.Spill, delta) }

// GetSpillTime returns SpillTime.
func (s *TxStats) GetSpillTime() time.Duration { return load(&s.SpillTime) }

// IncSpillTime adds to SpillTime and returns the sum.
func (s *TxStats) IncSpillTime(delta time.Duration) time.Duration {
	return increase(&s.SpillTime, delta)
}

// GetWrite returns Write.
func (s *TxStats) GetWrite() int64 { return atomic.LoadInt64(&s.Write) }

// IncWrite adds to Write and returns the sum.
func (s *TxStats) IncWrite(delta int64) int64 { return atomic.AddInt64(&s.Write, delta) }

// GetWriteTime returns WriteTime.
func (s *TxStats) GetWriteTime() time.Duration { return load(&s.WriteTime) }

// IncWriteTime adds to WriteTime and returns the sum.
func (s *TxStats) IncWriteTime(delta time.Duration) time.Duration {
	return increase(&s.WriteTime, delta)
}

func load(d *time.Duration) time.Duration { return time.Duration(atomic.LoadInt64((*int64)(d))) }

func increase(d *time.Duration, delta time.Duration) time.Duration {
	return time.Duration(atomic.AddInt64((*int64)(d), int64(delta)))
}
