package feed

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

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
		p, err := StoredValue{data: data, kind: encodedStruct, fields: u}.MarshalJSON()
		if err == nil && !json.Valid(p) {
			t.Errorf("%q is not JSON", p)
		}
	})
}
