// Package feed keeps append-only logs in a database. A feed is a sequence of entries of one type,
// numbered 0, 1, 2, and so on; no number is ever used twice.
//
//	posts, err := feed.Open[Post](db, "posts", &feed.Options[Post]{
//		Sublogs: map[string]func(*Post) []string{
//			"author": func(p *Post) []string { return []string{p.Author} },
//		},
//	})
//	err = db.Update(func(tx *stoat.Tx) error {
//		_, err := posts.Append(tx, &Post{Author: "alice", Text: "Hello"})
//		return err
//	})
//	err = db.View(func(tx *stoat.Tx) error {
//		alice := posts.Query().Where(feed.In("author", "alice"))
//		for e, err := range alice.Reverse().Limit(10).All(tx) {
//			if err != nil {
//				return err
//			}
//			fmt.Println(e.Seq, e.Value.Text)
//		}
//		return nil
//	})
//
// Everything is part of the caller's transaction: a rollback leaves no gap in the numbers. Sublogs
// assign entries to addresses, which queries can combine. A consumer handles each entry exactly
// once, even if the program crashes. Entries can be redacted individually, and retention removes
// the oldest ones.
//
// # Storage
//
// A feed is a bucket that only this package may write to. Its key "format" identifies the encoding
// of entries. Its key "state" holds counters, which a transaction keeps in memory and writes once,
// and a digest of the format and the schemas, by which a [Feed] recognizes the feed that it opened.
// Its key "salvage" holds the last salvage after which the feed was checked, if any. The bucket
// contains these buckets; numbers in keys are 8 bytes, big-endian:
//
//	entries    number → 1 byte: 1, or 2 if redacted; uvarint milliseconds since 1970;
//	           uvarint bytes of all encoded values before; the encoded value
//	sublogs    a bucket for each: first number of a chunk, 1 byte, address → a set of numbers
//	redacted   the numbers of the redacted entries, in the same way, with an empty address
//	consumers  name → uvarint number of the entry to handle next
//	schemas    number of a schema → the fields of structs
//
// A chunk is 65,536 entries, and a set holds the numbers of an address within one chunk. The byte
// is 1 for a small set of the newest numbers, which is written with each commit, and 0 for the
// rest, into which the small set is merged when it is full. A chunk can thus be removed from all
// addresses at once.
//
// # Non-goals
//
// Entries have no order except that of their numbers, can be found by content only through sublogs,
// and never change, except by redaction. A [Feed] is safe for concurrent use; a transaction belongs
// to one goroutine.
package feed
