package layout

import (
	"encoding/binary"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// everything has a field of each kind.
type everything struct {
	Bool   bool
	Time   time.Time
	Text   string
	List   []string
	Flags  []bool
	Times  []time.Time
	Array  [2]string
	Map    map[int16]string
	Opt    *string
	Opaque version
	Nested []everythingInside
}

// everythingInside has what everything can have within a list.
type everythingInside struct {
	I8      int8
	U       uint
	F       float32
	ID      [16]byte
	Texts   []string
	Numbers map[string]uint32
	Opt     *[]byte
	Opaque  version
	Arr     [2][]int8
	Sub     struct{ S string }
	Kept    int32
}

// fullValue returns a value without a zero in it.
func fullValue() everything {
	text, raw := "opt", []byte("raw")
	inside := everythingInside{-1, 1, 0.5, [16]byte{1}, []string{"a", "b"},
		map[string]uint32{"k": 1, "l": 2}, &raw, version{1, 2}, [2][]int8{{1}, {2, 3}},
		struct{ S string }{"s"}, 77}
	return everything{true, time.Unix(1, 2).UTC(), "text", []string{"x", "yy"}, []bool{true},
		[]time.Time{time.Unix(3, 4).UTC()}, [2]string{"p", "q"}, map[int16]string{1: "one"}, &text,
		version{3, 4}, []everythingInside{inside, inside}}
}

// Whatever a byte becomes, the record is refused as corrupt, or is one of some value.
func TestDecode_survivesAnyByte(t *testing.T) {
	l := mustOf[everything](t)
	p := mustPlan(t, l, l)
	v := fullValue()
	record := mustAppend(t, l, &v)
	refused := 0
	for i := range record {
		old := record[i]
		for b := range 256 {
			record[i] = byte(b)
			var got, again everything
			if err := Decode(p, record, &got); err != nil {
				known := errors.Is(err, corrupt.Err) || strings.Contains(err.Error(), "schema") ||
					strings.Contains(err.Error(), "a version has 4 bytes") ||
					strings.Contains(err.Error(), "out of range for uint") // of 32 bits
				if !known {
					t.Fatalf("byte %d is %d: %v", i, b, err)
				}
				refused++
				continue
			}
			err := Decode(p, mustAppend(t, l, &got), &again)
			if err != nil {
				t.Fatalf("byte %d is %d: %v", i, b, err)
			}
		}
		record[i] = old
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
}

// A value within another that ends at any byte is refused, decoded or skipped.
func TestDecode_refusesValuesCutShort(t *testing.T) {
	l := mustOf[struct{ A everythingInside }](t)
	kept := mustOf[struct {
		A []struct{ Kept int64 }
	}](t)
	all := mustOf[struct{ A []everythingInside }](t)
	v := struct{ A []everythingInside }{fullValue().Nested}
	element := mustAppend(t, all, &v)
	values := element[1+1+1:] // behind the number, the width and the end
	for _, to := range []*Layout{all, kept} {
		p := mustPlan(t, all, to)
		for n := 1; n < len(values); n++ {
			record := append([]byte{0, 1, byte(n)}, values[:n]...)
			err := p.decode(record, address(reflect.New(to.typ).Elem()))
			if !errors.Is(err, corrupt.Err) {
				t.Errorf("%d of %d bytes as %s: %v", n, len(values), to.typ, err)
			}
		}
	}
	if len(l.Fields()) != 11 {
		t.Errorf("%d fields", len(l.Fields()))
	}
}

func TestPlan_skipsWhatStructsInListsHaveNoMore(t *testing.T) {
	type newer struct {
		Nested []struct{ Kept int64 }
	}
	l, v := mustOf[everything](t), fullValue()
	v.Nested[1] = everythingInside{Kept: 78}
	var got newer
	p := mustPlan(t, l, mustOf[newer](t))
	if err := Decode(p, mustAppend(t, l, &v), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Nested) != 2 || got.Nested[0].Kept != 77 || got.Nested[1].Kept != 78 {
		t.Errorf("got %v", got)
	}
}

func TestDecode_allocatesNoMoreThanItReads(t *testing.T) {
	type lists struct {
		A []int64
		B []string
		C map[string]int64
	}
	l := mustOf[lists](t)
	p := mustPlan(t, l, l)
	for i := range 3 {
		huge := append(binary.AppendUvarint(nil, 1<<31-1), make([]byte, 100)...)
		record := []byte{0, 1, 0, 0, 0}
		for j := i; j < 3; j++ {
			record[2+j] = byte(len(huge))
		}
		var got lists
		err := Decode(p, append(record, huge...), &got)
		if !errors.Is(err, corrupt.Err) {
			t.Errorf("field %d: %v", i, err)
		}
	}
}

func TestField_refusesBadValues(t *testing.T) {
	l, v := mustOf[everything](t), fullValue()
	p := mustPlan(t, l, l)
	record := mustAppend(t, l, &v)
	record[1] = 7 // Bool
	if _, err := mustField(t, p, "Bool").Bool(record); !errors.Is(err, corrupt.Err) {
		t.Errorf("a bool of 7: %v", err)
	}
	binary.LittleEndian.PutUint32(record[10:], 1e9) // nanoseconds of Time
	if _, err := mustField(t, p, "Time").Time(record); !errors.Is(err, corrupt.Err) {
		t.Errorf("a second of nanoseconds: %v", err)
	}
	record[14] = 3 // the width of the ends
	if _, err := mustField(t, p, "Text").Bytes(record); !errors.Is(err, corrupt.Err) {
		t.Errorf("ends of 3 bytes: %v", err)
	}
	if _, err := mustField(t, p, "Text").Bytes(nil); !errors.Is(err, corrupt.Err) {
		t.Errorf("an empty record: %v", err)
	}
	text := mustField(t, p, "Text")
	if _, err := replace(nil, record, text, "x"); !errors.Is(err, corrupt.Err) {
		t.Errorf("replaced with ends of 3 bytes: %v", err)
	}
	opaque := mustField(t, p, "Opaque")
	dst, err := replace([]byte("x"), mustAppend(t, l, &v), opaque, version{666, 1})
	if err == nil || string(dst) != "x" {
		t.Errorf("got %q, %v", dst, err)
	}
}
