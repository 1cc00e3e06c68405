// Package tuple encodes tuples of values as keys: the byte order of the keys is the order of the
// tuples, element by element.
//
//	key, err := tuple.Encode("order", customer, tuple.Desc(placed), number)
//	for key, value := range tx.Scan(tuple.Prefix("order", customer)) { … } // the newest first
//
// A tuple that is the beginning of another sorts before it. Elements of different types sort in
// the order of this table, which is the whole format; it never changes, and a tuple is its
// elements one after the other:
//
//	tag      element            then
//	02       nil
//	04       false
//	05       true
//	0c … 13  negative integer   8 … 1 bytes: the bits of its absolute value, all inverted
//	14       0
//	15 … 1c  positive integer   1 … 8 bytes
//	20       float              8 bytes: positive with the sign bit set, negative all inverted
//	28       string             its bytes with 00 as 01 01 and 01 as 01 02, then 00
//	2c       bytes              the same
//	30       time               8 bytes seconds since 1970 with the sign bit inverted, 4 nanoseconds
//	34       UUID               16 bytes
//	80 … ff  descending         the encoding of the ascending element, all bits inverted
//
// All numbers are big-endian and as short as their tags allow. Integers of all types are one kind,
// and so are floats: −Inf, the negative numbers, −0, +0, the positive numbers, +Inf, and last NaN,
// of which there is only one. Integers and floats do not mix: every float sorts after every
// integer. Strings sort by their bytes. Times are instants: locations are not kept.
//
// A value of a named type is encoded as its kind, so that type UserID int64 is an integer, and any
// array of 16 bytes is a UUID. Other types, among them pointers, slices and structs, have no
// encoding.
//
// Every tuple has exactly one encoding; bytes that are none are an error, whatever they are.
// Functions are safe for concurrent use, a [Reader] is not. The package knows nothing about
// records: it is for the keys of a program, and for the layers above the database.
package tuple
