package layout

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
	"unsafe"
)

// mustOf compiles the type of T.
func mustOf[T any](tb testing.TB) *Layout {
	tb.Helper()
	l, err := Of(reflect.TypeFor[T]())
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// mustPlan plans the decoding of what from writes as values of the type of to.
func mustPlan(tb testing.TB, from, to *Layout) *Decoder {
	tb.Helper()
	p, err := NewDecoder(from.Schema(), to)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// mustAppend returns the record of v.
func mustAppend[T any](tb testing.TB, l *Layout, v *T) []byte {
	tb.Helper()
	record, err := Append(l, nil, v)
	if err != nil {
		tb.Fatal(err)
	}
	return record
}

// version is a type with its own binary form.
type version struct{ major, minor uint16 }

func (v version) MarshalBinary() ([]byte, error) {
	if v.major == 666 {
		return nil, errors.New("no such version")
	}
	return binary.BigEndian.AppendUint32(nil, uint32(v.major)<<16|uint32(v.minor)), nil
}

func (v *version) UnmarshalBinary(p []byte) error {
	if len(p) != 4 {
		return errors.New("a version has 4 bytes")
	}
	v.major, v.minor = binary.BigEndian.Uint16(p), binary.BigEndian.Uint16(p[2:])
	return nil
}

// leafTypes are types without parts.
var leafTypes = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int](), reflect.TypeFor[int8](),
	reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
	reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](),
	reflect.TypeFor[uint32](), reflect.TypeFor[uint64](), reflect.TypeFor[float32](),
	reflect.TypeFor[float64](), reflect.TypeFor[time.Time](), reflect.TypeFor[[16]byte](),
	reflect.TypeFor[string](), reflect.TypeFor[string](), reflect.TypeFor[[]byte](),
	reflect.TypeFor[version](), reflect.TypeFor[time.Duration](),
}

// randomType returns a type of at most the depth.
func randomType(r *rand.Rand, depth int) reflect.Type {
	leaf := leafTypes[r.IntN(len(leafTypes))]
	if depth == 0 {
		return leaf
	}
	switch r.IntN(14) {
	case 0, 1:
		return reflect.SliceOf(randomType(r, depth-1))
	case 2:
		return reflect.ArrayOf(r.IntN(4), randomType(r, depth-1))
	case 3:
		key := leafTypes[r.IntN(15)]
		return reflect.MapOf(key, randomType(r, depth-1))
	case 4, 5:
		return reflect.PointerTo(randomType(r, depth-1))
	case 6, 7:
		return randomStruct(r, depth-1)
	}
	return leaf
}

// randomStruct returns a struct type whose fields have at most the depth.
func randomStruct(r *rand.Rand, depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range 1 + r.IntN(7) {
		t := randomType(r, depth)
		name := string(rune('A' + i))
		fields = append(fields, reflect.StructField{Name: name, Type: t})
	}
	return reflect.StructOf(fields)
}

// fill sets v, which is addressable, to a random value of which a decoded record is an exact copy.
func fill(r *rand.Rand, v reflect.Value) {
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Unix(int64(r.Uint64()), r.Int64N(1e9)).UTC()
		return
	case *version:
		*p = version{uint16(r.IntN(600)), uint16(r.Uint32())}
		return
	}
	n := r.IntN(5)
	if r.IntN(20) == 0 {
		n *= 100
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(r.IntN(2) == 1)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(r.Uint64() >> r.IntN(64)))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(r.Uint64() >> r.IntN(64))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(r.NormFloat64())
	case reflect.String:
		v.SetString(randomText(r, n))
	case reflect.Slice:
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n%40+1, n%40+1))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			fill(r, v.Index(i))
		}
	case reflect.Map:
		fillMap(r, v, n%10)
	case reflect.Pointer:
		if n > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(r, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i))
		}
	}
}

func fillMap(r *rand.Rand, v reflect.Value, n int) {
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(r, key)
		fill(r, elem)
		v.SetMapIndex(key, elem)
	}
}

func randomText(r *rand.Rand, n int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return string(p)
}

// address returns where an addressable value lies.
func address(v reflect.Value) unsafe.Pointer { return v.Addr().UnsafePointer() }

// user is a record as programs have them: 15 fields, 5 of which are strings.
type user struct {
	ID          int64 `stoat:"id,key"`
	Username    string
	Email       string `stoat:"email,index,unique"`
	FirstName   string
	LastName    string
	Age         int32
	Height      float32
	Weight      float32
	Balance     float64
	IsActive    bool
	CreatedAt   int64
	UpdatedAt   int64
	LoginCount  int32
	Score       float64
	Description string
}

func someUser() user {
	return user{
		ID: 123456, Username: "user_123456", Email: "user123456@example.com",
		FirstName: "First_123456", LastName: "Last_123456", Age: 42, Height: 1.75, Weight: 70.5,
		Balance: math.Pi, IsActive: true, CreatedAt: 1_700_000_000, UpdatedAt: 1_700_000_001,
		LoginCount: 7, Score: 99.5,
		Description: "A description of about ninety-five characters, which is what the user of the " +
			"example has to say.",
	}
}

// replace is [Field.Replace] by a value of any type.
func replace[V any](dst, data []byte, f *Field, v V) ([]byte, error) {
	return f.Replace(dst, data, reflect.ValueOf(&v).Elem())
}
