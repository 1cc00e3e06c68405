// Package gokv keeps a store of gokv (github.com/philippgille/gokv) in a Stoat database: values of
// any type under strings. The interface has no types of gokv's, so this package does not import it.
//
// A [Store] is the root bucket of a database and is safe for concurrent use. Every write is a
// transaction, as durable as the database's commits are.
package gokv
