// Package model proves, within bounds, the rules by which machines share a database in object
// storage. It explores every interleaving of a few processes, any of which may stop between two
// requests for as long as it likes, over a store that knows only create-if-absent, get, list and
// delete. There is no clock.
//
// [LogWorld] has writers that claim the role, commit, write states, delete old log objects and go
// on after any pause, and a reader. Its rules:
//
//   - claims stay: no claim is ever deleted.
//   - look back: the creator of a claim, and a reader that meets one, asks the newest state
//     whether the claim counts, before acting on it.
//   - chain: each object names the one before it; a reader of one that does not fit starts over.
//   - order: a commit is acknowledged after all before it. With several requests in flight, one
//     that was sent before a claim may take a number shortly after it; such an object is void and
//     skipped, in the zone of numbers that the requests of one writer can reach. Until it has
//     passed the zone, the new writer has one request in flight.
//   - void objects stay: none is ever deleted, since the number may be the next one of a writer
//     that has stopped.
//   - barrier: a claimant may put one at a number that nobody has reached, to stop a writer that
//     takes each number before a claim can. It is void, whatever its epoch, unless a newer state is
//     stored than what was read, and ends the role of a writer of its epoch or before whose object
//     finds it in its place. What such a writer had sent after that object is void in the same way.
//     Until it has passed the numbers where barriers may be that were made before its claim, the
//     new writer has one request in flight, and goes on after a barrier.
//   - tail: the objects that a newest state needs to vouch for the log are never deleted: the one
//     that it is of and, with several requests in flight, as many before it.
//
// [PinWorld] has a writer that removes files which no position within reach needs, and a reader
// that pins a position. Its rules: the writer creates the unlink bound in the log first, lists the
// pins then, and deletes only what both allow. The reader creates its pin first, reads the bound
// then, and goes on reading until no newer state exists.
//
// Nothing here takes time into account, and nothing is assumed of how long a process stops, so the
// rules need no timeouts. What is bounded are the numbers of a log, the writers and their claims.
//
// Each rule can be broken by itself ([LogRules], [PinRules]), and the tests show what goes wrong
// then. Nothing here is used by a database; its packages cite the rules by these names.
package model
