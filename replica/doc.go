// Package replica keeps collections of package record the same on any number of devices, which may
// be offline as long as they like. Every change is sealed by the device that made it, so nobody can
// forge, alter or backdate one.
//
//	device, err := replica.NewDevice()
//	space, err := replica.Create(db, "team", &replica.Options{Device: device})
//	tasks, err := replica.Collection[Task](space, "tasks", nil) // a record.Collection
//	err = db.Update(func(tx *stoat.Tx) error { return tasks.Put(tx, &task) })
//
//	// on another device, with the id of the space
//	space, err := replica.Join(db, "team", id, &replica.Options{Device: device})
//	err = replica.Sync(ctx, space, conn, nil) // both sides; what one writes, the other has
//
// # What happens
//
// A transaction that changes collections of a space makes one entry, in the same commit: what
// changed, field by field, compared with what the transaction found. The entries of a replica form
// its log. Replicas exchange entries, and merge those of others into their collections, with
// indexes, in the order of cause and effect; queries, indexes and [record.Collection.Watch] work as
// always. Replicas that have the same entries have the same state, whatever the order in which the
// entries came: see [Space.Root].
//
// # Rules
//
// The tag of a field says what becomes of changes that were made without knowing of each other:
//
//	(none)        the value with the greatest time wins; Space.Conflicts lists the others
//	merge=keep    the same, but an answer is wanted: Conflict.Kept
//	merge=sum     a signed integer: increments and decrements add up; sums wrap at 64 bits
//	merge=max     the greatest value wins; a lower one has no effect
//	merge=min     the least value wins
//	merge=set     a list of scalars or a map: adding beats removing; of the values of a key, the
//	              one with the greatest time wins. The list is sorted and has no duplicates
//
// A record that was edited and deleted without knowing of each other stays: deletions lose. A
// record that is stored again after its deletion continues the sums, maxima and minima that it had.
//
// A field is known by the first name that it ever had, the last one that was= lists. Programs of
// different versions work together: fields that a type lacks are kept, and shown when it gains
// them. The rule of a field must not change; with another rule, it is another field.
//
// # Rights
//
// Only the roots of a space may write to it, those that found it, until they grant rights to other
// devices, or to [Anyone]: see [Space.Grant]. A transaction that its device may not make fails with
// [ErrNotAllowed]. Every replica judges every entry by the rights that its author had when it made
// the entry, whoever passes the entry on. What it had no right for is void: it is kept, and has no
// effect. [Space.Revoke] ends a grant behind the entries that are known, so nothing can be
// backdated.
//
// # History
//
// [Space.History] tells what was done to a record, [Space.At] shows the space as it was, and
// [Space.Revert] takes back what some entries did, with new ones. [Space.Void] lists what does not
// count; a device with the right to can take it over with [Space.Adopt]. [Space.Status] says what
// waits, for what, and what was refused.
//
// # Limits
//
// A transaction writes to one space, and makes at most 1 MiB of changes, or what the space allows.
// What one replica cannot promise alone is refused: unique indexes, assigned keys, expiring
// records, and migrations. What is written to the collection's bucket in other ways is not
// replicated.
//
// Logs grow, and deleted records keep their state, until a checkpoint covers them and [Space.Prune]
// removes them: see [Space.Checkpoint]. New replicas cannot start with a checkpoint yet: they need
// one that has not pruned. The devices at both ends of [Sync] prove who they are, and the
// connections of [Dial] and [Serve] encrypt; files of [Export] and [Import] need neither.
//
// # Copies
//
// A database may be restored from a backup, or put back to an older copy of its directory; and a
// copy may be used beside the original. A replica in a restored backup begins a log of its own. One
// that cannot know that it is a copy learns it from the first peer that has more of its log than it
// has itself: it takes that back, and goes on in a new log. Entries that were not sealed move
// there.
//
// If two copies have sealed different entries under one number, the log is forked. Replicas that
// meet find out, and no entry of the log from there on counts, on any replica. The device issues
// those of both branches again, in new logs, by itself: nothing is lost, and nothing counts twice.
//
// Spaces and collections are safe for concurrent use; transactions are not. Sync starts goroutines,
// which end before it returns; one of the space ends with its last session. The format of what is
// exchanged is docs/replica-format.md.
package replica
