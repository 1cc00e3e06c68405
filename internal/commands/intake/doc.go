// Package intake brings what a foreign source holds into a bucket, in transactions of bounded size,
// so that an import that was interrupted can go on.
//
// A [Job] is one run of an import. Its caller reads the source and says after each record where the
// source is read on; the job writes. Each commit stores, with the data, a bookmark: what the source
// looked like, the position behind the last record that is in the database, and what was counted.
// The next run finds the bookmark and goes on from there, or refuses if the source is not the same
// any more. The last commit removes the bookmark. So each record is in the database once, whenever
// the run ends.
//
// The bookmarks of unfinished imports are the entries of the bucket [Bookmarks] in the root bucket:
//
//	key:   the kind of the source, 0x00, its path, 0x00, the path of the bucket as text
//	value: a JSON object
//
// A source whose records have no keys becomes numbered entries, which numbered.go alone knows. A
// Job is not safe for concurrent use. The package reads no source, no file and no clock.
package intake
