// Package replicatest tests what an application does with replicas: whether its own rules hold when
// changes that were made apart come together.
//
//	func TestList(t *testing.T) {
//		replicatest.Run(t, &replicatest.App[*List]{
//			Open:       openList,                    // the collections of a replica
//			Operations: []replicatest.Operation[*List]{{"add", add}, {"buy", buy}},
//			Check:      check,                       // what must always hold
//		}, nil)
//	}
//
// Run makes histories at random and plays each: replicas of one space, with databases in temporary
// directories, do operations and meet, while connections break and are doubled, clocks jump,
// replicas restart and make checkpoints, and databases are replaced by their own older backups. In
// the end all come together; then they must have the same state, byte for byte. Check is called on
// a replica after each step that it takes part in.
//
// Where a history fails, Run looks for the shortest one that still fails, and prints that. The seed
// that it prints makes the same histories again; only the ids of logs, which decide between changes
// made at the same instant, differ from run to run.
//
// What it cannot see are expectations that Check does not state: that merged values are the ones a
// user would want.
package replicatest
