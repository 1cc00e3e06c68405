// Package record keeps structs in a database: collections of records of one type, with a primary
// key, indexes, queries, and changes as they happen.
//
//	type User struct {
//		ID    int64    `stoat:"id,key"`
//		Email string   `stoat:"email,unique"`
//		Age   int32    `stoat:"age,index"`
//		Tags  []string `stoat:"tags,index"` // an entry for each element
//		Home  Address  `stoat:"home"`       // its fields are home.city and so on
//	}
//
//	users, err := record.Open[User](db, "users", nil)
//	err = db.Update(func(tx *stoat.Tx) error { return users.Put(tx, &User{ID: 7, …}) })
//	err = db.View(func(tx *stoat.Tx) error {
//		u, err := users.Get(tx, 7)
//		…
//	})
//
// # Tags
//
// A tag has the name of the field in the collection, and options: key makes it a part of the
// primary key, in the order of the fields; auto, beside key, makes the collection give the keys;
// index and unique make an index of the field's name; expires makes one, too, and the record is
// gone from the moment in the field on; and was=old1|old2 names what it was called before. All
// exported fields are stored, those without a tag under their Go name; the tag "-" leaves one out.
// Indexes over several fields are in [Options.Indexes].
//
// # Keys that the collection gives
//
//	ID int64 `stoat:"id,key,auto"`
//
// A key of one field of integers may be left zero: [Collection.Insert] and [Collection.Put] make it
// the next number, 1, 2, 3, and so on. A record with a greater key than the last one, whoever chose
// it, moves the numbers on, so that no key comes twice, even if its record is deleted; only what a
// rolled back transaction gave is given again. The option may come and go: the numbers go on after
// the highest key that there is.
//
// # Records that expire
//
//	Until time.Time `stoat:"until,expires"`
//
// From that moment on there is no such record for whatever reads, counts or writes; the zero time,
// and what is before it, is never over. A transaction goes by one moment, [stoat.Tx.Now]. Until it
// is swept, an expired record is stored with its index entries, and the stored count has it: writes
// of the collection sweep some of them, and [Collection.Sweep] all. The option may come and go;
// without it the records that are not swept stay.
//
// # What is stored
//
// A collection is a bucket of its name in the root bucket. Its keys are the primary keys, its
// values the records. Its sequence is the user's, or, if it gives keys, the last one, and then it
// must not be set. In it are the buckets
//
//	index NAME     the entries of an index: values and primary key, or in a unique index
//	               values, with the primary key as the value
//	meta           "definition": what the collection is, in JSON; "count": the number of
//	               records, 8 bytes, little-endian; "schema N": what the records of schema N
//	               have; "salvage": since which salvage it was checked, if there was one; its
//	               sequence says which definition this is
//
// Keys are tuples of package tuple, and so is their order. With [CodecBinary] a record is the
// values of the fields, without names or types, behind the number of its schema. All that belongs
// to a record changes with it, in the caller's transaction: data, indexes and count never disagree.
//
// # Values in order
//
// Bools, numbers, strings, bytes, times and UUIDs can be keys, be indexed and be compared; pointers
// to them and lists of them can be indexed and be compared. False is less than true; strings and
// bytes compare byte by byte; −0 is 0, and NaN is greater than all other floats; a nil pointer is
// less than everything else.
//
// Collections, views and queries are safe for concurrent use; transactions are not. The package
// knows no relations between collections, and starts no goroutines.
package record
