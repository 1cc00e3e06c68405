package layers

import "testing"

// TestCrashFeeds_leavesSublogsCursorsAndConsumersInAgreement cuts the power at the operations of
// feeds. Entries, sublogs, redactions, cursors and the results of consumers must all be in the
// state after one commit, none older than promised: each entry is handled exactly once.
func TestCrashFeeds_leavesSublogsCursorsAndConsumersInAgreement(t *testing.T) {
	crashAll(t, feedWorkloads())
}

// TestCrashFaultFeeds_leavesSublogsCursorsAndConsumersInAgreement makes operations fail.
func TestCrashFaultFeeds_leavesSublogsCursorsAndConsumersInAgreement(t *testing.T) {
	faultAll(t, feedWorkloads())
}

// TestCrashFeeds_noticesADiskThatLies tests the test.
func TestCrashFeeds_noticesADiskThatLies(t *testing.T) { noticesADiskThatLies(t, feedWorkloads()) }
