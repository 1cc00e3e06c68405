// Package manifest is the record of which files make up the database: the version, the edits to it,
// and their journal.
//
// A [Version] says which tables are live, in which runs, which files with values they point into,
// where the log starts, and which dropped buckets still have garbage in tables. An [Edit] is a
// change of it. A [Journal] is the file MANIFEST-000012: a header, a frame with a whole version,
// and a frame for each edit since, in order. It needs no other file to be read; the highest
// numbered complete one counts, so that there is no pointer to it. A new one is started by
// [Create], never renamed. MANIFEST-000012.copy has the same bytes, for repairs.
//
// The header is that of package fileheader. All integers are little-endian or uvarints. A frame is
//
//	 0  checksum  u32, CRC-32C of the next 8 bytes, seeded with the header's checksum and the offset
//	 4  length    u32, of the payload in bytes
//	 8  payload's checksum  u32, CRC-32C
//	12  payload   fields: a tag and a value each, in the order of their tags
//
// A version is immutable once it is made. A Journal is for one goroutine at a time. The package
// neither removes files nor decides what becomes of the tables.
package manifest
