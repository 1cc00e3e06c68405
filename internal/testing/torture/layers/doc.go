// Package layers tries to make packages record and feed disagree with themselves: indexes with
// records, sublogs with entries, cursors with what consumers have written. It has nothing but
// tests, and stands beside those of the database in internal/testing/torture.
//
// A workload plays a random history on a layer and, beside it, on a model of plain maps and slices.
// The states that the model had after each commit are the timeline: what a crash or a failing
// operation leaves must be one of them, none older than promised, in every respect.
//
//   - the package in the folder ../crash has the timeline, which is the oracle, and says when the
//     power is cut; runner_test.go runs workloads on a timeline;
//   - crash_test.go cuts the power at the operations of a workload, and again when work goes on
//     after that; fault_test.go lets operations fail;
//   - people_test.go is the model of a collection, forms_test.go the types and indexes that it is
//     opened with, archive_test.go its workload, lookout_test.go the live queries beside, and
//     verify_people_test.go compares a database with the model;
//   - journal_test.go, channel_test.go, gazette_test.go, consumer_test.go, follower_test.go and
//     verify_journal_test.go are the same for feeds;
//   - broken_people_test.go and broken_journal_test.go break databases and want that to be noticed.
//
// A failure says which flags make the same happen again: -crash.seed and -crash.only. -crash.points
// says how much is tried.
package layers
