// Package replica keeps collections of package record the same on any number of devices, which may
// be offline for any time. Each change is signed by the device that made it, so nobody else can
// forge, alter or backdate it.
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
// its log, and a seal signs them. Replicas exchange entries and merge them into their collections
// in the order of cause and effect. Queries, indexes and [record.Collection.Watch] work as always.
// Replicas with the same entries have the same state, whatever the order of arrival: see
// [Space.Root].
//
// # Rules
//
// The tag of a field says how concurrent changes merge. Changes are concurrent if neither device
// had seen the change of the other:
//
//	(none)        the value with the greatest time wins; Space.Conflicts lists the others
//	merge=keep    the same, but the program should ask the user: Conflict.Kept
//	merge=sum     a signed integer: increments and decrements add up; sums wrap at 64 bits
//	merge=max     the greatest value wins; a lower one has no effect
//	merge=min     the least value wins
//	merge=set     a list of scalars or a map: adding beats removing; of the values of a key, the
//	              one with the greatest time wins. The list is sorted and has no duplicates
//
// An edit beats a concurrent deletion of the record. A record that is stored again after its
// deletion continues its sums, maxima and minima.
//
// A field is known by the first name that it ever had, the last one that was= lists. Programs of
// different versions work together: a replica keeps fields that its type lacks, and shows them once
// the type has them. The rule of a field must not change; with another rule, it is another field.
//
// # Rights
//
// Only the roots, the devices that found a space, may write to it until they grant rights to other
// devices or to [Anyone]: see [Space.Grant]. A transaction that its device may not make fails with
// [ErrNotAllowed]. Each replica judges each entry by the rights that its author had when it made
// the entry, not by who passes it on. A part without a right is void: it is kept, and has no
// effect. [Space.Revoke] ends a grant behind the entries that this replica has, so nothing can be
// backdated.
//
// Only the roots and devices with a grant are given anything, by [Sync] and by [Post]: see
// [Space.MayRead]; and the content of a collection only devices that may read it: see
// [Space.MayReadCollection]. A replica can hold some collections only: see [Options]. [Export] does
// not ask who will read the file.
//
// # History
//
// [Space.History] lists the changes of a record, [Space.At] shows the space as it was, and
// [Space.Revert] takes back what some entries did, with new entries. [Space.Void] lists the entries
// that do not count; a device that may make their changes adopts them with [Space.Adopt].
// [Space.Status] says which entries wait, for what, and which were refused.
//
// # Limits
//
// A transaction writes to one space, changes at most 64 collections of it, and makes at most 1 MiB
// of changes, or [Options].EntryMax. Collections cannot have what one replica cannot guarantee
// alone: unique indexes, assigned keys, expiring records, and migrations. Writes to the bucket of a
// collection, past package record, are not replicated.
//
// Logs grow, and deleted records keep their state, until a checkpoint covers them and [Space.Prune]
// removes them: see [Space.Checkpoint]. A replica that lacks what its peer has pruned starts from
// the checkpoint: see [SyncOptions].
//
// The devices at both ends of [Sync] prove who they are. The connections of [Dial] and [Serve]
// encrypt. Files of [Export] are not encrypted.
//
// # Copies
//
// A replica in a restored backup begins a new log. A replica in a copied directory cannot know that
// it is a copy until a peer has more of its log than it has itself: it takes these entries back,
// begins a new log, and issues its unsealed entries again there.
//
// If two copies have sealed different entries under one number, the log has forked. Replicas find
// the fork when they meet, and cut the log: no entry from the fork on counts, on any replica. The
// device issues the entries of both branches again, in new logs: nothing is lost, and nothing
// counts twice.
//
// Spaces and collections are safe for concurrent use; transactions are not. Sync starts goroutines,
// which end before it returns; a goroutine of the space ends with its last session.
// docs/replica-format.md has the formats, and docs/replica.md is a guide.
package replica
