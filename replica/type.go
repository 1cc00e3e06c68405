package replica

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// column is a field of a collection's type that is merged. It is immutable.
type column struct {
	name string   // the first one it had, which identifies it everywhere
	all  []string // all names that it may have in stored records
	kind entry.OpKind
	typ  *layout.Type
}

// keyPart is a field of the key. It is immutable.
type keyPart struct{ all []string }

// recordType is what merging knows about the type of a collection. It is immutable.
type recordType struct {
	layout  *layout.Schema
	columns []column // by ascending name
	key     []keyPart
}

// typeOf examines a type.
func typeOf[T any](opts *record.Options[T]) (*recordType, error) {
	if err := checkOptions(opts); err != nil {
		return nil, err
	}
	l, err := layout.Of(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	typ := &recordType{layout: l.Schema()}
	names := map[string]bool{}
	for _, info := range l.Fields() {
		all := append([]string{info.Name}, info.Was...)
		if slices.Contains(info.Options, "key") {
			typ.key = append(typ.key, keyPart{all})
		}
		c, err := newColumn(&info, all)
		if err == nil && names[c.name] {
			err = fmt.Errorf("another field was once called %s", c.name)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", info.Name, err)
		}
		names[c.name] = true
		if !slices.Contains(info.Options, "key") {
			typ.columns = append(typ.columns, c)
		}
	}
	slices.SortFunc(typ.columns, func(a, b column) int { return strings.Compare(a.name, b.name) })
	return typ, nil
}

// checkOptions refuses what cannot hold on all replicas.
func checkOptions[T any](opts *record.Options[T]) error {
	switch {
	case opts.Codec != record.CodecBinary:
		return errors.New("use CodecBinary: fields are merged one by one")
	case opts.Key != nil:
		return errors.New("Options.Key is set: use key fields, which are the same in every program")
	case opts.Version != 0 || len(opts.Migrate) > 0:
		return errors.New("Options.Migrate is set: add a field with the new meaning instead")
	}
	for _, x := range opts.Indexes {
		if x.Unique {
			return fmt.Errorf("index %s is unique: replicas that are apart cannot keep that", x.Name)
		}
	}
	return nil
}

// newColumn returns the column of a field.
func newColumn(info *layout.Info, all []string) (column, error) {
	c := column{name: all[len(all)-1], all: all, kind: entry.OpSet, typ: info.Stored}
	if len(c.name) > entry.FieldMax {
		return c, fmt.Errorf("its name has more than %d bytes", entry.FieldMax)
	}
	if opaque(c.typ) {
		return c, errors.New("a type with its own MarshalBinary cannot be merged: use other types")
	}
	for _, option := range info.Options {
		rule, ok := strings.CutPrefix(option, "merge=")
		switch {
		case option == "unique", option == "auto":
			return c, fmt.Errorf("the tag option %s cannot hold on replicas that are apart", option)
		case option == "expires":
			return c, errors.New("records expire by the clock of a replica, so the tag option expires " +
				"would make replicas differ")
		case ok:
			var err error
			if c.kind, err = kindOf(rule, c.typ); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// opaque reports whether a type has a part that only its own methods can decode.
func opaque(t *layout.Type) bool {
	if t == nil {
		return false
	}
	part := slices.ContainsFunc(t.Fields, func(f layout.Named) bool { return opaque(f.Type) })
	return t.Kind == layout.Opaque || part || opaque(t.Elem)
}

// kindOf returns the kind of operations for a rule of a tag.
func kindOf(rule string, t *layout.Type) (entry.OpKind, error) {
	scalar := t.Kind >= layout.Bool && t.Kind <= layout.Bytes
	switch rule {
	case "keep":
		return entry.OpKeep, nil
	case "sum":
		if t.Kind < layout.Int8 || t.Kind > layout.Int64 {
			return 0, fmt.Errorf("merge=sum needs a signed integer, not %s", t)
		}
		return entry.OpSum, nil
	case "max", "min":
		if !scalar {
			return 0, fmt.Errorf("merge=%s needs a number, a string, bytes, a time or a UUID, not %s",
				rule, t)
		}
		if rule == "max" {
			return entry.OpMax, nil
		}
		return entry.OpMin, nil
	case "set":
		if t.Kind == layout.Map {
			return entry.OpEntries, nil
		}
		if t.Kind == layout.List && t.Elem.Kind <= layout.Bytes {
			return entry.OpElements, nil
		}
		return 0, fmt.Errorf("merge=set needs a map, or a list of scalars, not %s", t)
	}
	return 0, fmt.Errorf("unknown rule merge=%s: use keep, sum, max, min or set, or none", rule)
}
