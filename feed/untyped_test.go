package feed

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/layout"
)

func FuzzStoredValue(f *testing.F) {
	type inner struct{ A, B string }
	type seed struct {
		At    time.Time
		Text  string
		Map   map[float64]inner
		Maybe *[]int16
	}
	l, err := layout.Of(reflect.TypeFor[seed]())
	if err != nil {
		f.Fatal(err)
	}
	l = l.Numbered(1)
	v := seed{time.Unix(1, 2), "text", map[float64]inner{1: {"a", "b"}}, &[]int16{1}}
	data, err := layout.Append(l, nil, &v)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(l.Schema().Append(nil), data)
	f.Fuzz(func(t *testing.T, schema, data []byte) {
		s, err := layout.ParseSchema(schema)
		if err != nil {
			return
		}
		u, err := newUntyped(s)
		if err != nil {
			t.Fatalf("%s: %v", s, err)
		}
		v := StoredValue{data: data, fields: u}
		for _, name := range v.Names() {
			value, err := v.Field(name)
			if errors.Is(err, stoat.ErrNotFound) || err == nil && !documented(value) {
				t.Errorf("%s: field %q is %T(%v), %v", s, name, value, value, err)
			}
		}
	})
}

// documented returns whether a value is one of those that [FieldValue] names.
func documented(v FieldValue) bool {
	switch v := v.(type) {
	case nil, bool, int64, uint64, float64, string, []byte, time.Time, [16]byte:
		return true
	case []any:
		return !slices.ContainsFunc(v, undocumented)
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), undocumented)
	case map[any]any:
		parts := slices.AppendSeq(slices.Collect(maps.Keys(v)), maps.Values(v))
		return !slices.ContainsFunc(parts, undocumented)
	}
	return false
}

func undocumented(v any) bool { return !documented(v) }
