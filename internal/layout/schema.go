package layout

import (
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// schemaVersion is the first byte of a stored schema.
const schemaVersion = 1

// Schema describes the fields of encoded structs.
type Schema struct {
	Number uint64  // with which encodings begin
	Fields []Named // in the order of the encoding; none of them is a struct
}

// Equal reports whether two schemas differ at most in their numbers.
func (s *Schema) Equal(other *Schema) bool { return equalFields(s.Fields, other.Fields) }

// String returns the schema as text.
func (s *Schema) String() string {
	return fmt.Sprintf("schema %d (%s)", s.Number, joinFields(s.Fields))
}

// Append appends the stored form of the schema: the version, the number, and the fields. A list of
// fields is their number followed, for each, by the name's length, the name, and the type. A type
// is its kind followed, depending on the kind, by an array's length, the key, the element, or the
// list of fields. All numbers except the kind and the version are uvarints.
func (s *Schema) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, schemaVersion), s.Number)
	return appendFields(dst, s.Fields)
}

func appendFields(dst []byte, fields []Named) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(fields)))
	for _, f := range fields {
		dst = binary.AppendUvarint(dst, uint64(len(f.Name)))
		dst = appendType(append(dst, f.Name...), f.Type)
	}
	return dst
}

func appendType(dst []byte, t *Type) []byte {
	dst = append(dst, byte(t.Kind))
	if t.Kind == Array {
		dst = binary.AppendUvarint(dst, uint64(t.Len))
	}
	if t.Key != nil {
		dst = appendType(dst, t.Key)
	}
	if t.Elem != nil {
		dst = appendType(dst, t.Elem)
	}
	if t.Kind == Struct {
		dst = appendFields(dst, t.Fields)
	}
	return dst
}

// ParseSchema parses the stored form of a schema. It accepts only what [Schema.Append] writes.
func ParseSchema(p []byte) (*Schema, error) {
	if len(p) > 0 && p[0] > schemaVersion {
		return nil, fmt.Errorf("schema version %d is newer than %d, the latest that this program "+
			"knows: update it: %w", p[0], schemaVersion, corrupt.ErrFormat)
	}
	if len(p) == 0 || p[0] != schemaVersion {
		return nil, damaged("schema without a version")
	}
	in := &parser{rest: p[1:]}
	s := &Schema{Number: in.uvarint()}
	s.Fields = in.fields(0)
	if in.reason == "" && len(in.rest) > 0 {
		in.fail("%d bytes too many", len(in.rest))
	}
	for _, f := range s.Fields {
		if in.reason == "" && f.Type.Kind == Struct {
			in.fail("the field %q is a struct", f.Name)
		}
	}
	if in.reason != "" {
		return nil, damaged("schema: %s", in.reason)
	}
	return s, nil
}

// parser reads the stored form of a schema. After a failure it returns zero values.
type parser struct {
	rest   []byte
	reason string // why it failed; empty if it has not
}

func (in *parser) fail(format string, args ...any) {
	if in.reason == "" {
		in.reason = fmt.Sprintf(format, args...)
	}
	in.rest = nil
}

func (in *parser) uvarint() uint64 {
	v, n := binary.Uvarint(in.rest)
	if n <= 0 || n > 1 && in.rest[n-1] == 0 {
		in.fail("malformed number")
		return 0
	}
	in.rest = in.rest[n:]
	return v
}

// count reads the length of a list whose items take at least a byte each.
func (in *parser) count() int {
	n := in.uvarint()
	if n > uint64(len(in.rest)) {
		in.fail("length %d with %d bytes left", n, len(in.rest))
		return 0
	}
	return int(n)
}

func (in *parser) fields(depth int) []Named {
	var fields []Named
	names := map[string]bool{}
	for range in.count() {
		size := in.count()
		name := string(in.rest[:size])
		in.rest = in.rest[size:]
		if in.reason == "" && (!validPath(name) || names[name]) {
			in.fail("invalid or repeated name %q", name)
		}
		t := in.typ(depth + 1)
		if in.reason != "" {
			return nil
		}
		names[name] = true
		fields = append(fields, Named{name, t})
	}
	return fields
}

// typ reads a type, or returns nil after a failure.
func (in *parser) typ(depth int) *Type {
	if len(in.rest) == 0 || depth > depthMax {
		in.fail("a type is missing or too deep")
		return nil
	}
	t := &Type{Kind: Kind(in.rest[0])}
	in.rest = in.rest[1:]
	switch t.Kind {
	case Array:
		n := in.uvarint()
		if n > lengthMax {
			in.fail("an array of %d elements", n)
			return nil
		}
		t.Len = int(n)
		t.Elem = in.typ(depth + 1)
	case Map:
		t.Key = in.typ(depth + 1)
		t.Elem = in.typ(depth + 1)
	case List, Optional:
		t.Elem = in.typ(depth + 1)
	case Struct:
		t.Fields = in.fields(depth)
	default:
		if t.Kind == 0 || t.Kind > Struct {
			in.fail("%s", t.Kind)
		}
	}
	if in.reason != "" {
		return nil
	}
	if reason := t.check(); reason != "" {
		in.fail("%s", reason)
		return nil
	}
	return t
}

// check returns what is wrong with a type whose parts are valid, or an empty string.
func (t *Type) check() string {
	if size, ok := t.constantSize(); ok && size >= lengthMax {
		return "the values are too large"
	}
	switch t.Kind {
	case List:
		if size, ok := t.Elem.constantSize(); ok && size == 0 {
			return "the elements of a list have no size"
		}
	case Map:
		if !t.Key.Kind.key() {
			return fmt.Sprintf("%s as keys of a map", t.Key)
		}
	}
	return ""
}

// validPath reports whether s is a valid field name, or several joined by dots.
func validPath(s string) bool {
	for name := range strings.SplitSeq(s, ".") {
		if !validName(name) {
			return false
		}
	}
	return true
}

// validName reports whether s is a valid name in a tag.
func validName(s string) bool {
	return s != "" && utf8.ValidString(s) && !strings.ContainsAny(s, ".,|=\x00")
}

// damaged returns an error that matches corrupt.Err.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", corrupt.Err, fmt.Sprintf(format, args...))
}
