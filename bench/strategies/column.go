package strategies

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// column is what is known about one field of the user's own records.
type column struct {
	name    string
	kind    kind
	objects int // number of objects with the field
}

// kind is the common type of a column's values.
type kind int

const (
	kindNone kind = iota
	kindBool
	kindInt
	kindFloat
	kindString
	kindRaw // any JSON, or absent
)

// kindOf returns the kind of a JSON value.
func kindOf(value []byte) kind {
	switch c := value[0]; {
	case c == '"':
		return kindString
	case c == 't' || c == 'f':
		return kindBool
	case c != '-' && (c < '0' || c > '9'):
		return kindRaw
	}
	if _, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return kindInt
	}
	if _, err := strconv.ParseFloat(string(value), 64); err == nil {
		return kindFloat
	}
	return kindRaw
}

// and returns the kind of a column with values of both kinds.
func (k kind) and(other kind) kind {
	switch {
	case k == kindNone || k == other:
		return other
	case k == kindInt && other == kindFloat, k == kindFloat && other == kindInt:
		return kindFloat
	}
	return kindRaw
}

// structType returns the Go type of a column's values.
func (k kind) structType() reflect.Type {
	switch k {
	case kindBool:
		return reflect.TypeFor[bool]()
	case kindInt:
		return reflect.TypeFor[int64]()
	case kindFloat:
		return reflect.TypeFor[float64]()
	case kindString:
		return reflect.TypeFor[string]()
	}
	return reflect.TypeFor[json.RawMessage]()
}

// objectSchema returns the schema of a struct with a field for each column.
func objectSchema(columns []column, objects int) (*Schema, error) {
	var fields []reflect.StructField
	seen := make(map[string]bool)
	for i, c := range columns {
		option := ","
		if c.objects < objects || c.kind == kindRaw {
			c.kind, option = kindRaw, ",omitempty"
		}
		if !taggable(c.name) {
			return nil, fmt.Errorf("field %q: encoding/json does not accept this name; rename it", c.name)
		}
		name := identifier(c.name)
		if seen[name] {
			name = fmt.Sprint(name, "_", i)
		}
		seen[name] = true
		fields = append(fields, reflect.StructField{
			Name: name,
			Type: c.kind.structType(),
			Tag:  reflect.StructTag(fmt.Sprintf("json:%q", c.name+option)),
		})
	}
	return newSchema(reflect.StructOf(fields))
}

// taggable reports whether encoding/json accepts the name in a struct tag.
func taggable(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) &&
			!strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", c)
	})
}

// identifier returns a similar name that an exported Go struct field can have.
func identifier(name string) string {
	name = strings.Map(func(c rune) rune {
		if unicode.IsLetter(c) || unicode.IsDigit(c) {
			return c
		}
		return '_'
	}, name)
	first := []rune(name)
	if upper := unicode.ToUpper(first[0]); unicode.IsUpper(upper) {
		first[0] = upper
		return string(first)
	}
	return "X" + name
}
