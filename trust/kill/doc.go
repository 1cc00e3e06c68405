// Package kill holds tests with several processes: one writes and is killed, or holds the lock, or
// goes on writing while others read; another looks at what is in the files.
//
// The processes are this test's binary itself, started again with a plan in its environment. What a
// transaction does follows from its number alone, and the number is stored by the transaction; so
// whoever finds the number n in a database knows what all of it must be: what the transactions 1 to
// n make. No transaction can be lost, doubled, torn or swapped with another without a difference.
//
// The package has no code outside its tests.
package kill
