// Package layout encodes structs as records: their values without names or types, which a [Schema]
// has, stored once for all the records of a collection.
//
// [Of] compiles a struct type into a [Layout], which appends records. [NewPlan] compiles how
// records of a stored schema become values of a layout's type, which may have changed since, and
// gives access to single fields, which [Field] reads and replaces without decoding the others.
//
// # The form of a record
//
// Structs within the struct are taken apart: their fields are fields of the record, named as in
// "address.city". A field is fixed if all its values take the same number of bytes in the record,
// and the type is one of those in the first table; all other fields are variable.
//
//	schema number   uvarint
//	fixed fields    in the order of the schema, without gaps
//	end width       1 byte: 1, 2 or 4; this and the rest only if there are variable fields
//	ends            of each variable field, so many bytes each, counted from where the values start
//	values          of the variable fields, in the order of the schema
//
// So a fixed field is at an offset that only the schema decides, and a variable field is between
// two ends. All numbers are little-endian.
//
//	bool                          1 byte, 0 or 1
//	int8 … int64, uint8 … uint64  1, 2, 4 or 8 bytes; int and uint are 64-bit
//	float32, float64              4 or 8 bytes
//	time                          8 bytes seconds since 1970, 4 bytes nanoseconds
//	uuid                          16 bytes; any array of 16 bytes
//
// A variable field of a string or bytes is those bytes. The others are encoded as they are within
// each other, where fixed values are as above; but as a field, an empty list or map, a nil pointer
// and an opaque zero value take no bytes at all, and no bytes are the zero value of any type:
//
//	string, bytes, opaque         uvarint length, bytes; opaque is what MarshalBinary returns
//	list                          uvarint length, elements
//	array                         elements
//	map                           uvarint length, keys and values, sorted by the bytes of the keys
//	optional                      0, or 1 and the value: a pointer
//	struct                        fields
//
// Nil and empty slices and maps are the same, and decoded as nil. Times are instants: they are
// decoded in UTC.
//
// # Memory
//
// The package reads and writes structs through unsafe pointers, because reflection takes ten times
// as long. All offsets are those that reflection gave for the very type; no pointer is kept, and
// none stored but those that the runtime returned for the type. The strings and bytes of a decoded
// record share one allocation, so that one of them keeps the memory of all. No input can make the
// package allocate more than a small factor of the input's size, which depends on the types.
//
// Layouts, plans, fields and schemas are immutable and safe for concurrent use. The package knows
// neither keys nor indexes nor collections: it hands through what tags say about them.
package layout
