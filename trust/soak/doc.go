// Package soak contains tests that keep a database busy for any length of time: a bank whose
// transfers preserve the sum of all accounts, with readers that add them up. When it is closed,
// they check for leaked goroutines, open files, maps and memory.
//
// The package has no code outside its tests.
package soak
