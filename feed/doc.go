// Package feed keeps append-only logs in a database: entries of one type under the numbers 0, 1, 2,
// and so on, which are never given twice.
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
// Everything is part of the caller's transaction: what is rolled back leaves no hole in the
// numbers. Sublogs say which entries belong to which addresses, so that queries can combine them. A
// consumer handles each entry once, however often the program ends. Entries can be redacted, one by
// one, and retention removes the oldest ones.
//
// # What is stored
//
// A feed is a bucket. Only this package may write to it. Its key "format" says how entries are
// encoded, and its key "state" holds counters, which a transaction keeps in memory and writes once,
// and a digest of the format and the schemas, by which a [Feed] knows that it is the same feed. Its
// key "salvage" says since which salvage it was checked, if there was one.
// In it are these buckets; numbers in keys are 8 bytes, big-endian:
//
//	entries    number → 1 byte: 1, or 2 if redacted; uvarint milliseconds since 1970;
//	           uvarint bytes of all encoded values before; the encoded value
//	sublogs    a bucket for each: first number of a chunk, 1 byte, address → a set of numbers
//	redacted   the numbers of the redacted entries, in the same way, with an empty address
//	consumers  name → uvarint number of the entry to handle next
//	schemas    number of a schema → what fields structs had
//
// A chunk is 65,536 entries, and a set the numbers of an address within one. The byte is 1 for a
// short set of the newest numbers, which is written with each commit, and 0 for the others, which
// are joined with it when it is full. So a chunk is removed from all addresses at once.
//
// # What it is not
//
// There is no order but that of the numbers, nothing is found by its contents but through sublogs,
// and a value that was appended never changes. A [Feed] is safe for concurrent use; a transaction
// belongs to one goroutine, as always.
package feed
