// Package tuple encodes tuples of values as keys. The byte order of the keys is the order of the
// tuples, element by element.
//
//	key, err := tuple.Encode("order", customer, tuple.Desc(placed), number)
//	for key, value := range tx.Scan(tuple.Prefix("order", customer)) { … } // newest first
//
// A tuple that is a prefix of another sorts before it. Elements of different types sort in the
// order of the table below, which defines the whole format. The format never changes, and a tuple
// is the concatenation of its elements:
//
//	tag      element            followed by
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
// All numbers are big-endian and as short as their tags allow. All integer types are encoded alike,
// and so are floats: −Inf, negative numbers, −0, +0, positive numbers, +Inf, and then NaN, of
// which there is only one. Integers and floats do not mix: every float sorts after every integer.
// Strings sort by their bytes. Times are instants: their location is not kept.
//
// A value of a named type is encoded by its kind, so a type UserID int64 is an integer, and any
// array of 16 bytes is a UUID. Other types, including pointers, slices and structs, have no
// encoding.
//
// Every tuple has exactly one encoding; decoding any other bytes is an error. Functions are safe
// for concurrent use, a [Reader] is not. The package knows nothing about records: it is for the
// keys of a program and of layers above the database.
package tuple
