// Package crash cuts the power during tests. While a workload runs on a file system in memory, the
// package crashes copies of it at its operations, and knows which states a crash may leave.
//
//   - [Options] are the flags: how much to try, and which crash to repeat.
//   - A [Schedule] makes the crashes of a [Sample]. Each has a name and random numbers of its own,
//     so it can be repeated alone.
//   - [Kept] is how much of the unsynced changes a crash keeps.
//   - A [Timeline] has the states after each commit; a [Promise] selects those that may be found.
//   - A [Liar] is a disk for tests of such tests.
//
// The package is only for tests and knows nothing of databases: the tests define what a workload
// does, what a state is, and how it is read from a disk.
package crash
