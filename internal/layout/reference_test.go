package layout

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"
)

// referenceRecord encodes a struct as the package comment says, by reflection alone and slowly. It
// knows no tags and no embedded structs.
func referenceRecord(number uint64, v reflect.Value) []byte {
	var fixed, ends []byte
	var values [][]byte
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		for i := range v.NumField() {
			f := v.Field(i)
			isFixed, isStruct := referenceShape(f)
			switch {
			case isStruct:
				walk(f)
			case isFixed:
				fixed = append(fixed, referenceValue(f)...)
			case f.Kind() == reflect.String:
				values = append(values, []byte(f.String()))
			case f.Type() == reflect.TypeFor[[]byte]():
				values = append(values, f.Bytes())
			case f.Kind() != reflect.Array && (f.IsZero() || f.Kind() != reflect.Struct &&
				f.Kind() != reflect.Pointer && f.Len() == 0):
				values = append(values, nil)
			default:
				values = append(values, referenceValue(f))
			}
		}
	}
	walk(v)
	record := append(binary.AppendUvarint(nil, number), fixed...)
	if len(values) == 0 {
		return record
	}
	all, width := bytes.Join(values, nil), 4
	for _, w := range []int{2, 1} {
		if len(all) < 1<<(8*w) {
			width = w
		}
	}
	sum := 0
	for _, p := range values {
		sum += len(p)
		ends = append(ends, binary.LittleEndian.AppendUint32(nil, uint32(sum))[:width]...)
	}
	return append(append(append(record, byte(width)), ends...), all...)
}

// referenceShape says whether a value is of a fixed kind, and whether it is a struct to take apart.
func referenceShape(v reflect.Value) (fixed, parts bool) {
	switch v.Interface().(type) {
	case time.Time, [16]byte:
		return true, false
	case version:
		return false, false
	}
	return v.Kind() <= reflect.Float64, v.Kind() == reflect.Struct
}

// referenceValue encodes a value as a part of another.
func referenceValue(v reflect.Value) []byte {
	switch x := v.Interface().(type) {
	case time.Time:
		p := binary.LittleEndian.AppendUint64(nil, uint64(x.Unix()))
		return binary.LittleEndian.AppendUint32(p, uint32(x.Nanosecond()))
	case [16]byte:
		return x[:]
	case version:
		p, _ := x.MarshalBinary()
		return append(binary.AppendUvarint(nil, uint64(len(p))), p...)
	}
	var p []byte
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return []byte{1}
		}
		return []byte{0}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return low(uint64(v.Int()), v.Type())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return low(v.Uint(), v.Type())
	case reflect.Float32:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(v.Float())))
	case reflect.Float64:
		return low(math.Float64bits(v.Float()), v.Type())
	case reflect.String:
		return append(binary.AppendUvarint(nil, uint64(v.Len())), v.String()...)
	case reflect.Pointer:
		if v.IsNil() {
			return []byte{0}
		}
		return append([]byte{1}, referenceValue(v.Elem())...)
	case reflect.Struct:
		for i := range v.NumField() {
			p = append(p, referenceValue(v.Field(i))...)
		}
		return p
	case reflect.Map:
		var keys, entries []string
		for i := v.MapRange(); i.Next(); {
			key := string(referenceValue(i.Key()))
			keys = append(keys, key)
			entries = append(entries, key+string(referenceValue(i.Value())))
		}
		slices.Sort(keys)
		p = binary.AppendUvarint(nil, uint64(len(keys)))
		for _, key := range keys {
			at := slices.IndexFunc(entries, func(e string) bool { return e[:min(len(key), len(e))] == key })
			p = append(p, entries[at]...)
		}
		return p
	case reflect.Slice:
		p = binary.AppendUvarint(nil, uint64(v.Len()))
	}
	for i := range v.Len() {
		p = append(p, referenceValue(v.Index(i))...)
	}
	return p
}

// low returns the bytes of a number of a type; int and uint have 8.
func low(x uint64, t reflect.Type) []byte {
	size := int(t.Size())
	if t.Kind() == reflect.Int || t.Kind() == reflect.Uint {
		size = 8
	}
	return binary.LittleEndian.AppendUint64(nil, x)[:size]
}

func TestAppend_writesWhatReflectionWould(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 500 {
		typ := randomStruct(r, 3)
		l, err := Of(typ)
		if err != nil {
			continue // a list of empty arrays
		}
		v := reflect.New(typ).Elem()
		fill(r, v)
		l = l.Numbered(r.Uint64N(1000))
		got, err := l.append(nil, address(v))
		if want := referenceRecord(l.number, v); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s %+v:\n got %x, %v,\nwant %x", typ, v, got, err, want)
		}
	}
}
