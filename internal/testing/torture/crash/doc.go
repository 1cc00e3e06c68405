// Package crash cuts the power under tests: while a workload runs on a file system in memory, it
// makes crashes at its operations, and keeps the oracle that says what they may leave.
//
//   - [Options] are the flags that say how much to try, and which crash to make again;
//   - a [Schedule] makes the crashes of a [Sample], of which each has a name and random numbers of
//     its own, so that it can be made again alone;
//   - [Kept] is what a crash keeps of what was not synced;
//   - a [Timeline] is the states after each commit, and a [Promise] those that may be found;
//   - a [Liar] is a disk to test such tests with.
//
// It is for tests only. It knows no database: what a workload does, what a state is and how it is
// found on a disk are matters of the tests.
package crash
