// Package kill contains tests with several processes: one writes and is killed, or holds the lock,
// or continues to write while others read; another checks what is in the files.
//
// The processes are this test's binary, started again with a plan in its environment. What a
// transaction does depends only on its number, and the transaction stores that number. A database
// with number n must therefore contain exactly what transactions 1 to n make: a transaction that is
// lost, doubled, torn or swapped with another makes a difference.
//
// The package has no code outside its tests.
package kill
