// Package layers tries to make packages record and feed contradict themselves: indexes and records,
// sublogs and entries, cursors and what consumers wrote. It holds only tests, like
// internal/testing/torture, which does the same to the database.
//
// A workload runs a random history on a layer and on a model made of maps and slices. The states of
// the model after each commit form the timeline. Whatever a crash or a failing operation leaves
// must equal one of these states in every respect, and none older than promised.
//
// The parts that both layers share:
//
//   - runner_test.go defines workloads and runs them on a timeline (package crash in ../crash);
//   - crash_test.go cuts the power at the operations of a workload, and again during the work that
//     follows; fault_test.go makes operations fail;
//   - main_test.go sets up the process;
//   - damage_test.go damages databases and checks that the comparison notices.
//
// Each part of a layer has a file:
//
//	                      record                  feed
//	the tests             record_test.go          feed_test.go
//	the workload          recordlayer_test.go     feedlayer_test.go
//	the model             recordmodel_test.go     feedmodel_test.go
//	the comparison        recordverify_test.go    feedverify_test.go
//	an open layer         anycollection_test.go   anyfeed_test.go
//	types and indexes     schema_test.go
//	loops beside writes   livequery_test.go       liveloop_test.go, consumer_test.go
//	tests of the tests    recorddamage_test.go    feeddamage_test.go
//
// A failure prints the flags that reproduce it: -crash.seed and -crash.only. The flag -crash.points
// sets how many crashes are made.
package layers
