// Package layout encodes Go structs as bytes: the values of their fields without names or types,
// which are in a [Schema] that is stored once for many encoded structs. Layers above call an
// encoded struct a stored record or value; here it is the encoding, or data.
//
// [Of] compiles a struct type into a [Layout], with which [Append] encodes structs. [NewDecoder]
// compiles how to decode structs of a stored schema into the type of a layout, which may have
// changed since. A [Field] reads or replaces a single field without decoding the others.
//
// # Encoding
//
// Nested structs are flattened: their fields become fields of the encoding, with names such as
// "address.city". A field is fixed if its type is in the first table below, where all values of a
// type take the same number of bytes; all other fields are variable.
//
//	schema number   uvarint
//	fixed fields    in the order of the schema, without gaps
//	end width       1 byte: 1, 2 or 4; this and the rest only if there are variable fields
//	ends            of each variable field, that many bytes each, relative to the first value
//	values          of the variable fields, in the order of the schema
//
// So a fixed field is at an offset that depends only on the schema, and a variable field lies
// between two ends. All numbers are little-endian.
//
//	bool                          1 byte, 0 or 1
//	int8 … int64, uint8 … uint64  1, 2, 4 or 8 bytes; int and uint are 64-bit
//	float32, float64              4 or 8 bytes
//	time                          8 bytes seconds since 1970, 4 bytes nanoseconds
//	uuid                          16 bytes; any array of 16 bytes
//
// A variable field of type string or bytes consists of those bytes. Other types are encoded as in
// the table below, both as fields and within each other, with fixed values as above. But as a
// field, an empty list or map, a nil pointer and an opaque zero value take no bytes at all, and no
// bytes decode to the zero value of any type:
//
//	string, bytes, opaque         uvarint length, bytes; opaque is what MarshalBinary returns
//	list                          uvarint length, elements
//	array                         elements
//	map                           uvarint length, keys and values, sorted by the bytes of the keys
//	optional                      0, or 1 and the value: a pointer
//	struct                        fields
//
// Nil and empty slices and maps are the same, and decode to nil. Times are instants and decode to
// UTC.
//
// # Memory
//
// The package reads and writes structs through unsafe pointers, because reflection takes ten times
// as long. All offsets come from reflection on the same type. No pointer is retained, and the only
// pointers it stores are those that the runtime returned for the type. The strings and byte slices
// of a decoded struct share one allocation, so any one of them keeps all of it alive. No input can
// make the package allocate more than a small multiple of the input's size, which depends on the
// types.
//
// Layouts, decoders, fields and schemas are immutable and safe for concurrent use. The package
// knows nothing about keys, indexes or collections: it only passes on what tags say about them.
package layout
