// Package raftstore keeps what a server of hashicorp/raft stores in Stoat: the log and the stable
// state ([Store]), and the state machine with its snapshots ([Machine]). It is for clusters that
// must lose no commit, in a local network. For one writer and object storage, see package remote.
//
// A [Store] implements [raft.LogStore] and [raft.StableStore] in one bucket of a database. Storing
// entries is one durable transaction, however many there are; deleting them costs the same for one
// and for a million.
//
// A [Machine] is a [raft.FSM] whose state is a database. Each batch of commands is a transaction
// that also records how far the log was applied, so a command has its effect once, whatever crashes
// and replays there are. Snapshots are streams of [stoat.DB.BackupTo], and raft.FileSnapshotStore
// keeps them.
//
// The two should be databases of their own: a snapshot from another server replaces the machine's.
package raftstore
