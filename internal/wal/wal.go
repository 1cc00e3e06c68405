// Package wal is the write-ahead log: transactions as frames in segment files, appended, synced,
// and replayed after a crash.
//
// A segment belongs to one memtable. Its file is a header, as in package fileheader, followed by
// frames without gaps. All integers are little-endian. The transaction that is commit n is one or
// more frames:
//
//	 0  checksum  u32, CRC-32C of the next 28 bytes, seeded with segment and offset
//	 4  length    u32, of the payload in bytes
//	 8  commit    u64, n
//	16  synced    u64, how many bytes of the file were durable when the frame was sealed
//	24  kind      u32: the whole transaction (1), or its first (2), a middle (3), its last frame (4)
//	28  payload's checksum  u32, CRC-32C
//	32  payload   entries, as in package batch
//
// The seed is the checksum of the file header, xored with both halves of the frame's offset. A
// frame is thus valid only at its own offset in its own file: neither stale frames nor a copy of a
// log inside a value can replay. The header has its own checksum, so a length can be trusted before
// the payload is read, and searching for frames after damage takes linear time.
//
// Large transactions are written while they run, so a log may contain frames of a transaction that
// was rolled back: the start of a transaction discards an unfinished one before it. The numbers of
// finished transactions are consecutive. Preallocated zeros may follow the last frame.
//
// A [Segment] is written by one appender and one flusher at a time, which may run concurrently. The
// package does not decide when to sync, elects no leader and publishes nothing; package commit
// does.
package wal
