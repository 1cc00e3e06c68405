package value

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/layout"
	"github.com/stoatdb/stoat/replica/internal/wire"
	"github.com/stoatdb/stoat/tuple"
)

// everything has a field of each type that can be merged.
type everything struct {
	B      bool
	I8     int8
	I16    int16
	I32    int32
	I64    int64
	U8     uint8
	U16    uint16
	U32    uint32
	U64    uint64
	F32    float32
	F64    float64
	T      time.Time
	ID     [16]byte
	S      string
	P      []byte
	List   []string
	Array  [2]int16
	Map    map[int8]string
	Opt    *uint32
	Nested []struct {
		Z string
		A map[string][]*float64
		T time.Time
	}
	Flat struct{ X, Y int16 }
}

// random fills v with random values, often zero.
func random(rng *rand.Rand, v reflect.Value) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		if rng.IntN(3) > 0 {
			*t = time.Unix(rng.Int64N(1<<40)-1<<39, rng.Int64N(1e9)).UTC()
		}
		return
	}
	if rng.IntN(4) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(rng.Uint64() >> rng.IntN(64)))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(rng.Uint64() >> rng.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat([]float64{1, -0.5, math.Copysign(0, -1), math.Inf(1), math.MaxFloat32}[rng.IntN(5)])
	case reflect.String:
		v.SetString([]string{"a", "\x00", "\x01b", "long text"}[rng.IntN(4)])
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), rng.IntN(4), 4))
		for i := range v.Len() {
			random(rng, v.Index(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			random(rng, v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range rng.IntN(4) {
			key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			random(rng, key)
			random(rng, elem)
			v.SetMapIndex(key, elem)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		random(rng, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			random(rng, v.Field(i))
		}
	}
}

// Every value of a record is canonical, and makes the same bytes in a record again.
func TestSchema_convertsThereAndBack(t *testing.T) {
	l, err := layout.Of(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	l = l.Numbered(300)
	s := NewSchema(l.Schema())
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var v everything
		random(rng, reflect.ValueOf(&v).Elem())
		record, err := layout.Append(l, nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		values := make([][]byte, len(l.Fields()))
		for i, f := range l.Fields() {
			if values[i], err = s.Append(nil, record, i); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, f.Name, err)
			}
			r := wire.NewReader(values[i])
			if Take(&r); r.End() != nil {
				t.Fatalf("seed %d: %s is %x: %v", seed, f.Name, values[i], r.Err())
			}
			if _, err := Decode(values[i]); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, f.Name, err)
			}
		}
		if again := s.AppendRecord(nil, values); !bytes.Equal(again, record) {
			t.Fatalf("seed %d: %+v\nis %x\nand becomes %x", seed, v, record, again)
		}
	}
}

// The record of no values is that of the zero struct.
func TestSchema_makesZeroValues(t *testing.T) {
	l, err := layout.Of(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSchema(l.Schema())
	record, err := layout.Append(l, nil, &everything{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.AppendRecord(nil, make([][]byte, len(l.Fields()))); !bytes.Equal(got, record) {
		t.Errorf("got %x, want %x", got, record)
	}
	for i, f := range l.Fields() {
		v, err := s.Append(nil, record, i)
		if zero := AppendZero(nil, f.Stored); err != nil || !bytes.Equal(v, zero) {
			t.Errorf("%s: %x is not %x, %v", f.Name, v, zero, err)
		}
	}
}

// A record shows the nearest value that its type has, whatever another program has written.
func TestSchema_makesAnyValueFit(t *testing.T) {
	l, err := layout.Of(reflect.TypeFor[everything]())
	if err != nil {
		t.Fatal(err)
	}
	s := NewSchema(l.Schema())
	others := [][]byte{tuple.AppendNil(nil), tuple.AppendInt(nil, math.MinInt64),
		tuple.AppendUint(nil, math.MaxUint64), tuple.AppendFloat(nil, math.NaN()),
		tuple.AppendString(nil, "x\x00"), tuple.AppendTime(nil, time.Unix(5, 6)),
		{tagList, 1, tagTrue}, {tagMap, 1, tagTrue, tagNil}, {tagStruct, 1, 1, 'A', tagNil}}
	d, err := layout.NewDecoder(l.Schema(), l)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range others {
		values := make([][]byte, len(l.Fields()))
		for i := range values {
			values[i] = v
		}
		record := s.AppendRecord(nil, values)
		var got everything
		if err := layout.Decode(d, record, &got); err != nil {
			t.Errorf("%x: %v", v, err)
		}
		for i, f := range l.Fields() {
			if _, err := s.Append(nil, record, i); err != nil {
				t.Errorf("%x, %s: %v", v, f.Name, err)
			}
		}
	}
}

// No record, however damaged, does more than make an error.
func FuzzSchema(f *testing.F) {
	l, err := layout.Of(reflect.TypeFor[everything]())
	if err != nil {
		f.Fatal(err)
	}
	s := NewSchema(l.Schema())
	var v everything
	random(rand.New(rand.NewPCG(1, 1)), reflect.ValueOf(&v).Elem())
	record, err := layout.Append(l, nil, &v)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(record)
	f.Fuzz(func(t *testing.T, p []byte) {
		for i := range l.Fields() {
			_, _ = s.Append(nil, p, i)
		}
	})
}
