// Package linear contains tests of what concurrent clients see: their histories, of when each call
// began and ended and what it returned, must be linearizable. There must be an order of all
// transactions that explains every answer, and in which a transaction that ended before another
// began comes first.
//
// The checker is porcupine. A transaction is a list of steps; the model applies the steps to a
// small state and compares the answers. If every transaction of a history is on one key, the keys
// are checked separately.
//
// The package has no code outside its tests.
package linear
