package layers

import "testing"

// TestCrashRecords_leavesIndexesCountAndLiveQueriesInAgreement cuts the power at the operations of
// collections: records, indexes and count must be in one state, that of a commit, none older than
// promised, and what live queries have told must be true.
func TestCrashRecords_leavesIndexesCountAndLiveQueriesInAgreement(t *testing.T) {
	crashAll(t, archives())
}

// TestCrashFaultRecords_leavesIndexesCountAndLiveQueriesInAgreement lets operations fail.
func TestCrashFaultRecords_leavesIndexesCountAndLiveQueriesInAgreement(t *testing.T) {
	faultAll(t, archives())
}

// TestCrashRecords_noticesADiskThatLies tests the test.
func TestCrashRecords_noticesADiskThatLies(t *testing.T) { noticesADiskThatLies(t, archives()) }
