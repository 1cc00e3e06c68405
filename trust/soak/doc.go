// Package soak holds tests that keep a database busy for as long as one likes: a bank whose
// transfers keep the sum of all accounts, with readers that add them up, and a look at what is left
// of goroutines, open files, maps and memory when it is closed.
//
// The package has no code outside its tests.
package soak
