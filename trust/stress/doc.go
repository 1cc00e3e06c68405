// Package stress contains tests that use one database at once in all ways: commits, loads, long
// transactions, checks, backups, compactions and loops over changes, and, of databases in object
// storage, readers, restores, clones, pins, collections and takeovers, on stores whose requests
// fail. Then the database is closed while it is used, or another writer takes over.
//
// What a database must hold is known by the number of its newest transaction, which it holds, too:
// whoever reads it, wherever and whenever. The interleaving of goroutines is not part of the seed.
//
// The package has no code outside its tests.
package stress
