// Package record stores structs in a database: collections of records of one Go type, with a
// primary key, indexes, queries, and notifications of changes.
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
// A tag gives the field's name in the collection, followed by options: key makes the field part of
// the primary key, in field order; auto, together with key, makes the collection assign keys; index
// and unique create an index named after the field; expires creates one too, and makes the record
// expire at the time in the field; merge=RULE is for package replica and means nothing here; and
// was=old1|old2 lists the field's former names. All exported fields are stored, those without a tag
// under their Go name; the tag "-" omits one. Indexes over several fields are listed in
// [Options.Indexes].
//
// # Assigned keys
//
//	ID int64 `stoat:"id,key,auto"`
//
// If the key is a single integer field with the option auto, it may be left zero:
// [Collection.Insert] and [Collection.Put] then assign the next number, 1, 2, 3, and so on. Storing
// a record with a larger key moves the sequence past it, so no key is ever assigned twice, even
// after its record is deleted; only numbers assigned by a transaction that rolled back are reused.
// The option can be added or removed later: numbering continues after the highest existing key.
//
// # Expiring records
//
//	Until time.Time `stoat:"until,expires"`
//
// From that time on, the record no longer exists for anything that reads, counts or writes; a zero
// or earlier time never expires. Each transaction uses a single time, [stoat.Tx.Now]. Until it is
// swept, an expired record remains stored, with its index entries, and is part of the stored count.
// Writes to the collection sweep a few expired records each, and [Collection.Sweep] sweeps all of
// them. The option can be added or removed later; without it, records that were not swept reappear.
//
// # Storage
//
// A collection is a bucket with its name in the root bucket. The bucket's keys are the primary
// keys, and its values are the records. Its sequence is free for the user, unless the collection
// assigns keys: then it is the last assigned key and must not be set. It contains these buckets:
//
//	index NAME     the entries of an index: values and primary key, or in a unique index
//	               values, with the primary key as the value
//	meta           "definition": the collection's definition, in JSON; "count": the number of
//	               records, 8 bytes, little-endian; "schema N": the fields of records of
//	               schema N; "salvage": the last salvage after which the collection was
//	               checked, if any; its sequence identifies the definition
//
// Keys are tuples of package tuple, and sort like them. With [CodecBinary], a record is the number
// of its schema followed by the values of the fields, without names or types. Everything that
// belongs to a record changes in the same transaction, so records, indexes and count never
// disagree.
//
// # Order of values
//
// Bools, numbers, strings, byte slices, times and UUIDs can be keys, be indexed and be compared;
// pointers to them and lists of them can be indexed and compared. False is less than true; strings
// and bytes compare byte by byte; −0 equals 0, and NaN is greater than all other floats; a nil
// pointer is less than everything else.
//
// # Without the type
//
// [OpenStored] opens a collection for reading by what is stored about the type, for tools that show
// any database.
//
// Collections, views and queries are safe for concurrent use; transactions are not. The package has
// no relations between collections and starts no goroutines.
package record
