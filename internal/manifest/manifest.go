// Package manifest is the record of which files make up the database: the version, the edits to it,
// and their journal.
//
// A [Version] says which tables are live, in which runs, which files with values they point into,
// where the log starts, and which dropped buckets still have garbage in tables. An [Edit] changes
// it. A [Journal] is the file MANIFEST-000012: a header, a frame with a whole version, and a frame
// for each edit since, in order. A manifest is complete without other files. The highest numbered
// complete one is current, so no file points to it; [Create] starts a new one and renames nothing.
// MANIFEST-000012.copy has the same bytes, for repairs.
//
// The header is as in package fileheader. All integers are little-endian or uvarints. A frame is
//
//	 0  checksum  u32, CRC-32C of the next 8 bytes, seeded with the header's checksum and the offset
//	 4  length    u32, of the payload in bytes
//	 8  payload's checksum  u32, CRC-32C
//	12  payload   fields: each a tag and a value, in the order of the tags
//
// Versions are immutable. A Journal is for one goroutine at a time. The package neither removes
// files nor decides which tables to compact.
package manifest
