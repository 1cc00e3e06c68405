// Package failover contains tests with a writer in a process of its own, which is killed, frozen or
// cut off from the store while it writes, and with standbys that take over. Nothing that a commit
// has acknowledged may be lost, and a writer that was replaced must not acknowledge anything.
//
// The processes are this test's binary, started again with a plan in its environment, and the
// command stoat-remote standby. The store is a real server with -servers, and otherwise one in the
// process of the test. The package has no code outside its tests.
package failover
