// Package kill contains tests with two processes that sync over TLS while both write, until one or
// both are killed. Then everything that either process acknowledged must be there, and one sync
// must make the replicas equal.
//
// The processes are this test's binary, started again with a plan in its environment, and the
// commands serve and sync of stoat-replica. The package has no code outside its tests.
package kill
