package layers

import "testing"

// TestCrashFeeds_leavesSublogsCursorsAndConsumersInAgreement cuts the power at the operations of
// feeds: entries, sublogs, redactions, and where consumers are and what they have written must be
// in one state, that of a commit, none older than promised; so each entry is handled once.
func TestCrashFeeds_leavesSublogsCursorsAndConsumersInAgreement(t *testing.T) {
	crashAll(t, gazettes())
}

// TestCrashFaultFeeds_leavesSublogsCursorsAndConsumersInAgreement lets operations fail.
func TestCrashFaultFeeds_leavesSublogsCursorsAndConsumersInAgreement(t *testing.T) {
	faultAll(t, gazettes())
}

// TestCrashFeeds_noticesADiskThatLies tests the test.
func TestCrashFeeds_noticesADiskThatLies(t *testing.T) { noticesADiskThatLies(t, gazettes()) }
