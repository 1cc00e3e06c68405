// Package linear holds tests of what concurrent clients see: their histories, of when each call
// began and ended and what it returned, must be linearizable. There must be one order of all
// transactions that explains every answer, and in which a transaction that ended before another
// began comes first.
//
// The checker is porcupine. A transaction is a list of steps; the model does the steps on a small
// state and compares the answers. Where every transaction of a history is about one key, its keys
// are checked apart.
//
// The package has no code outside its tests.
package linear
