package layers

import "testing"

// TestCrashRecords_leavesIndexesCountAndLiveQueriesInAgreement cuts the power at the operations of
// collections. Records, indexes and the count must be in the state after one commit, none older
// than promised, and the results of live queries must have been true.
func TestCrashRecords_leavesIndexesCountAndLiveQueriesInAgreement(t *testing.T) {
	crashAll(t, recordWorkloads())
}

// TestCrashFaultRecords_leavesIndexesCountAndLiveQueriesInAgreement makes operations fail.
func TestCrashFaultRecords_leavesIndexesCountAndLiveQueriesInAgreement(t *testing.T) {
	faultAll(t, recordWorkloads())
}

// TestCrashRecords_noticesADiskThatLies tests the test.
func TestCrashRecords_noticesADiskThatLies(t *testing.T) {
	noticesADiskThatLies(t, recordWorkloads())
}
