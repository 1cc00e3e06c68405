// Package wal is the write-ahead log: transactions as frames in segment files, appended, synced,
// and replayed after a crash.
//
// A segment belongs to one memtable. The file starts with a header, as in package fileheader, and
// frames follow, back to back. All integers are little-endian. The transaction that is commit n is
// one or more frames:
//
//	 0  checksum  u32, CRC-32C of the next 28 bytes, seeded with segment and place
//	 4  length    u32, of the payload in bytes
//	 8  commit    u64, n
//	16  synced    u64, so many bytes of the file were durable when the frame was sealed
//	24  kind      u32: the whole transaction (1), or its first (2), a middle (3), its last frame (4)
//	28  payload's checksum  u32, CRC-32C
//	32  payload   entries, as in package batch
//
// The seed is the checksum of the file header, xored with the two halves of the frame's offset, so
// that a frame is valid in its place only: nothing stale replays, nor a copy of a log that is in a
// value. A header has a checksum of its own so that a length can be trusted before the payload is
// read, and so that looking for frames behind damage takes linear time.
//
// Large transactions are written while they run, so the frames of one that was rolled back may
// stand in the log: the start of a transaction discards an unfinished one before it. The numbers of
// finished ones are consecutive. Preallocated zeros may follow the last frame.
//
// A [Segment] is written by one appender and one flusher at a time, which may run concurrently;
// [Replay] is a function. The package does not decide when to sync, elects no leader and publishes
// nothing; that is the engine's part.
package wal
