// Package valuelog is values that lie outside of tables: pointers to them, the files that hold them
// in key order, and reading them.
//
// A large value is written once, in the log segment of its commit, and tables hold a [Pointer] to
// it. When too much of a segment is garbage, or its values lie too scattered for scans, a
// compaction writes the live ones with a [Writer] to a value file. A [File] reads the values of
// either. A value file is a header, as in package fileheader, and the values, back to back. Where a
// value starts and what it should be is only in the pointers, which say the same about a value in
// either kind of file.
//
// Files are read through a map where the platform has one. A value is verified by the checksum in
// its pointer when it is first brought in. Files are safe for concurrent use, writers are not.
// Nothing needs to be closed: a file is let go when its File is unreachable. The package chooses no
// values and no files, and knows nothing of which values are live.
package valuelog
