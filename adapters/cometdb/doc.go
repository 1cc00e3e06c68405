// Package cometdb keeps a database of CometBFT (github.com/cometbft/cometbft-db) or of the Cosmos
// SDK (github.com/cosmos/cosmos-db) in a Stoat database.
//
// The two have the same interface DB, but each with types of its own for what its methods return. A
// [Store] has the methods, and is made with two functions that convert its [Iterator] and its
// [Batch] to those types, so this package imports neither, nor the engines that they bring:
//
//	store := cometdb.New(db,
//		func(it *cometdb.Iterator) dbm.Iterator { return it },
//		func(b *cometdb.Batch) dbm.Batch { return b })
//
// A Store is safe for concurrent use, an Iterator and a Batch are not. Iterators read one state of
// the database, whatever is written meanwhile, and neither block writers nor wait for them.
package cometdb
