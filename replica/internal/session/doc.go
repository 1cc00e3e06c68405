// Package session brings two replicas of a space together over a connection, and keeps them
// together while it lasts. It is the protocol of docs/replica-format.md, and knows no databases:
// what it needs of a replica is [Space].
//
// Both sides do the same. As a source, a side announces the ends of the logs that have changed
// since the peer last had everything, sends the runs that the peer then asks for, and from there on
// whatever arrives; as a sink, it asks for what it lacks, has it merged, and acknowledges what is
// durable. Catching up and following are one loop: the position in the order of arrival up to which
// the peer was told. So a slow peer costs that position, not a queue.
//
// A session has three goroutines: the one that called Run reads, one writes, and one merges while
// there is something to merge. Only the first two are there while nothing happens, and neither has
// more buffer than some hundred bytes then. All of them have ended when Run returns.
package session
