// Package history follows the rules that package model proves, on a real store: it reads the log of
// a database, claims the role of its writer, appends to it, and deletes what may be deleted.
//
// A [Log] reads and writes objects. [Log.Claim] makes a [Writer], and [Log.Follow] a [Follower].
// Their states are values of package object, immutable once returned, and what an object changes is
// a pure function: [Judge], [Next] and [Skip]. A writer has as many requests in flight as its claim
// says.
//
// An outcome that nobody knows is settled by the same bytes under the same name again, and by
// reading what is there; never by finding nothing. Nothing is deleted because a request failed.
//
// A Log is safe for concurrent use once its database is known; a Writer and a Follower are not. The
// package knows the names of files, and nothing of what is in them, of engines and of clocks: the
// time, random ids and pauses between tries are parameters.
package history
