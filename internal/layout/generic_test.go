package layout

import (
	"encoding"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// generic returns what Field.Value returns of a value in a field, or within another value.
func generic(tb testing.TB, v reflect.Value, field bool) any {
	tb.Helper()
	if m, ok := v.Interface().(encoding.BinaryMarshaler); ok &&
		v.Type() == reflect.TypeFor[version]() {
		if field && v.IsZero() {
			return []byte{}
		}
		p, err := m.MarshalBinary()
		if err != nil {
			tb.Fatal(err)
		}
		return p
	}
	switch v.Interface().(type) {
	case time.Time, [16]byte:
		return v.Interface()
	}
	switch k := v.Kind(); {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return v.Uint()
	case v.CanFloat():
		return v.Float()
	case k == reflect.Pointer && v.IsNil():
		return nil
	case k == reflect.Pointer:
		return generic(tb, v.Elem(), false)
	case k == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		return append([]byte{}, v.Bytes()...)
	case k == reflect.Slice || k == reflect.Array:
		list := []any{}
		for i := range v.Len() {
			if v.Type().Elem().Size() > 0 {
				list = append(list, generic(tb, v.Index(i), false))
			}
		}
		return list
	case k == reflect.Map:
		m := map[any]any{}
		for i := v.MapRange(); i.Next(); {
			m[generic(tb, i.Key(), false)] = generic(tb, i.Value(), false)
		}
		return m
	case k == reflect.Struct:
		m := map[string]any{}
		for i := range v.NumField() {
			m[v.Type().Field(i).Name] = generic(tb, v.Field(i), false)
		}
		return m
	}
	return v.Interface()
}

// newRandom returns a source of random numbers, and prints its seed if the test fails.
func newRandom(tb testing.TB) *rand.Rand {
	tb.Helper()
	seed := rand.Uint64()
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("seed %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func TestValue_isThatOfTheStruct(t *testing.T) {
	r := newRandom(t)
	compared := 0
	for range 500 {
		typ := randomStruct(r, 3)
		l, err := Of(typ)
		if err != nil {
			continue // elements without a size
		}
		v := reflect.New(typ).Elem()
		fill(r, v)
		data, err := l.append(nil, address(v))
		if err != nil {
			t.Fatal(err)
		}
		untyped, err := FromSchema(l.Schema().Fields, func(string) []string { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, to := range []*Layout{l, untyped} {
			d := mustPlan(t, l, to)
			for _, info := range l.Fields() {
				got, err := mustField(t, d, info.Name).Value(data)
				want := generic(t, v.FieldByIndex(info.Index), true)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%s of %s is %#v, %v, want %#v", info.Name, typ, got, err, want)
				}
				compared++
			}
		}
	}
	if compared < 500 {
		t.Errorf("only %d fields were compared", compared)
	}
}

func TestValue_isOfTheTypeThatTheFieldHasNow(t *testing.T) {
	type before struct {
		N    int8
		List []int16
		Text []string
		Opt  *float32
	}
	type now struct {
		N    float32
		List []int32
		Text [][]byte
		Opt  *float64
		New  []string
		Map  map[string]bool
		T    time.Time
	}
	half := float32(0.5)
	old := mustOf[before](t)
	data := mustAppend(t, old, &before{-3, []int16{200}, []string{"a"}, &half})
	typed := mustOf[now](t)
	untyped, err := FromSchema(typed.Schema().Fields, func(string) []string { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"N": -3.0, "List": []any{int64(200)}, "Text": []any{[]byte("a")},
		"Opt": 0.5, "New": []any{}, "Map": map[any]any{}, "T": time.Time{}}
	for _, l := range []*Layout{typed, untyped} {
		d := mustPlan(t, old, l)
		for name, want := range want {
			if got, err := mustField(t, d, name).Value(data); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%s is %#v, %v, want %#v", name, got, err, want)
			}
		}
	}
}

func TestValue_refusesDamage(t *testing.T) {
	l := mustOf[everything](t)
	v := fullValue()
	data := mustAppend(t, l, &v)
	d := mustPlan(t, l, l)
	refused := 0
	for i := range data {
		old := data[i]
		for b := range 256 {
			data[i] = byte(b)
			for _, info := range l.Fields() {
				if _, err := mustField(t, d, info.Name).Value(data); err != nil {
					refused++
				}
			}
		}
		data[i] = old
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

func TestNewDecoder_refusesALooseFieldThatIsStoredFixed(t *testing.T) {
	text := &Type{Kind: String}
	l, err := FromSchema([]Named{{Name: "x", Type: &Type{Kind: Map, Key: text, Elem: text}}},
		func(string) []string { return nil })
	if err != nil {
		t.Fatal(err)
	}
	stored := &Schema{Number: 1, Fields: []Named{
		{Name: "x", Type: &Type{Kind: Int32}}, {Name: "text", Type: text},
	}}
	if _, err := NewDecoder(stored, l); !errors.Is(err, corrupt.Err) {
		t.Errorf("error %v, want %v", err, corrupt.Err)
	}
}
