package layout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestAppend_roundTripsRandomStructs(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		typ := randomStruct(r, 3)
		l, err := Of(typ)
		if err != nil {
			if strings.Contains(err.Error(), "no size") {
				continue // a list of empty arrays
			}
			t.Fatal(err)
		}
		l = l.Numbered(r.Uint64() >> r.IntN(64))
		p := mustPlan(t, l, l)
		got := reflect.New(typ).Elem()
		for range 5 {
			want := reflect.New(typ).Elem()
			fill(r, want)
			record, err := l.append([]byte("before"), address(want))
			if err != nil {
				t.Fatal(err)
			}
			record = record[len("before"):]
			if err := p.decode(record, address(got)); err != nil {
				t.Fatalf("%s: %v", typ, err)
			}
			if !reflect.DeepEqual(got.Interface(), want.Interface()) {
				t.Fatalf("%s:\n got %+v,\nwant %+v", typ, got, want)
			}
			again, err := l.append(nil, address(got))
			if err != nil || string(again) != string(record) {
				t.Fatalf("%s: the record of what it decodes to is another: %v", typ, err)
			}
		}
	}
}

type base struct {
	ID      int
	Created time.Time `stoat:"created"`
	Hidden  string
}

type residence struct {
	City string `stoat:"city,index"`
	Zip  struct{ Code uint32 }
}

type person struct {
	base
	Home     residence `stoat:"home"`
	Work     *residence
	Hidden   int
	secret   string
	Skipped  chan int `stoat:"-"`
	Tags     []string `stoat:",was=labels|keywords,index"`
	Friends  map[string]int64
	Versions [2]version
}

func TestOf_describesTheFields(t *testing.T) {
	l := mustOf[person](t)
	var names []string
	for _, f := range l.Fields() {
		names = append(names, f.Name)
		if found := reflect.TypeFor[person]().FieldByIndex(f.Index); found.Type != f.Type {
			t.Errorf("%s is found at the index of %s", f.Name, found.Name)
		}
		if strings.HasSuffix(f.Name, "city") || f.Name == "Tags" {
			if !slices.Equal(f.Options, []string{"index"}) {
				t.Errorf("%s has the options %q", f.Name, f.Options)
			}
		}
	}
	want := []string{"ID", "created", "home.city", "home.Zip.Code", "Work", "Hidden", "Tags",
		"Friends", "Versions"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	const schema = "schema 7 (ID int64, created time, home.city string, home.Zip.Code uint32, " +
		"Work optional struct{city string, Zip struct{Code uint32}}, Hidden int64, " +
		"Tags list of string, Friends map[string]int64, Versions array of 2 opaque)"
	if got := l.Numbered(7).Schema().String(); got != schema {
		t.Errorf("got  %s\nwant %s", got, schema)
	}
}

func TestOf_namesTheFieldThatCannotBeStored(t *testing.T) {
	type inner struct{ Fn func() }
	type list struct{ Next []*list }
	type stamp time.Time
	type A struct{ X int }
	type B struct{ X int }
	for want, typ := range map[string]reflect.Type{
		"int is not a struct":         reflect.TypeFor[int](),
		"field A: type chan int":      reflect.TypeFor[struct{ A chan int }](),
		"field A: type interface {}":  reflect.TypeFor[struct{ A any }](),
		"field A: type complex128":    reflect.TypeFor[struct{ A complex128 }](),
		"field A: type uintptr":       reflect.TypeFor[struct{ A uintptr }](),
		"field A.Fn: type func()":     reflect.TypeFor[struct{ A inner }](),
		"field A[][].Fn: type func()": reflect.TypeFor[struct{ A [][1]inner }](),
		"keys of maps are":            reflect.TypeFor[struct{ A map[A]int }](),
		"the elements of a list":      reflect.TypeFor[struct{ A []struct{} }](),
		"field A: type layout.stamp":  reflect.TypeFor[struct{ A stamp }](),
		"it contains itself":          reflect.TypeFor[list](),
		"too large":                   reflect.TypeFor[struct{ A [1 << 28]int }](),
		"field a: 2 fields": reflect.TypeFor[struct {
			A, B int `stoat:"a"`
		}](),
		"field X: 2 fields": reflect.TypeFor[struct {
			A
			B
		}](),
		"embed the struct itself": reflect.TypeFor[struct{ *A }](),
		`field a has a tag but is not exported: export it, or tag it`: reflect.TypeFor[struct {
			a int `stoat:"x"`
		}](),
		`invalid name "a.b"`: reflect.TypeFor[struct {
			A int `stoat:"a.b"`
		}](),
		`invalid former name ""`: reflect.TypeFor[struct {
			A int `stoat:"a,was="`
		}](),
		`the option "index"`: reflect.TypeFor[struct {
			A B `stoat:"a,index"`
		}](),
	} {
		_, err := Of(typ)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", typ, err, want)
		}
	}
}

func TestOf_prefersWhatIsEmbeddedLeast(t *testing.T) {
	type Deep struct{ X, Y, Z int }
	type Mid struct {
		Deep
		X string
		W int `stoat:"Z"`
	}
	type Other struct {
		Y bool `stoat:"Y"`
	}
	type Top struct {
		Mid
		Other
	}
	got := mustOf[Top](t).Schema().String()
	if got != "schema 0 (X string, Z int64, Y bool)" {
		t.Errorf("got %s", got)
	}
}

func TestAppend_refusesAnotherType(t *testing.T) {
	l := mustOf[user](t)
	if _, err := Append(l, nil, &base{}); err == nil {
		t.Error("a value of another type is encoded")
	}
	if err := Decode(mustPlan(t, l, l), mustAppend(t, l, &user{}), &base{}); err == nil {
		t.Error("a value of another type is decoded")
	}
}

func TestAppend_returnsTheErrorOfMarshalBinary(t *testing.T) {
	type versioned struct{ V []version }
	dst, err := Append(mustOf[versioned](t), []byte("x"), &versioned{[]version{{666, 1}}})
	if string(dst) != "x" || err == nil || !strings.Contains(err.Error(), "no such version") {
		t.Errorf("got %q, %v", dst, err)
	}
}

func TestAppend_growsTheEndsWithTheValues(t *testing.T) {
	type texts struct {
		A, B string
		C    []string
	}
	l := mustOf[texts](t)
	p := mustPlan(t, l, l)
	for _, size := range []int{0, 1, 250, 255, 256, 257, 65_530, 65_536, 70_000} {
		want := texts{A: strings.Repeat("a", size), B: "b", C: []string{"c"}}
		record := mustAppend(t, l, &want)
		var got texts
		if err := Decode(p, record, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestDecode_ownsItsMemory(t *testing.T) {
	type texts struct {
		A, B []byte
		C    string
		D    []string
	}
	l := mustOf[texts](t)
	want := texts{[]byte("aa"), []byte("bb"), "cc", []string{"dd"}}
	record := mustAppend(t, l, &want)
	var got texts
	if err := Decode(mustPlan(t, l, l), record, &got); err != nil {
		t.Fatal(err)
	}
	clear(record)
	_ = append(got.A, "overwritten"...)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestDecode_leavesSkippedFieldsAlone(t *testing.T) {
	l := mustOf[person](t)
	record := mustAppend(t, l, &person{Hidden: 1})
	got := person{secret: "kept", Tags: []string{"gone"}, Work: &residence{}}
	if err := Decode(mustPlan(t, l, l), record, &got); err != nil {
		t.Fatal(err)
	}
	if want := (person{Hidden: 1, secret: "kept"}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestRecords_allocateOnlyTheStrings(t *testing.T) {
	l := mustOf[user](t)
	p := mustPlan(t, l, l)
	u := someUser()
	buf := make([]byte, 0, 1000)
	if n := testing.AllocsPerRun(100, func() { buf, _ = Append(l, buf[:0], &u) }); n != 0 {
		t.Errorf("encoding allocates %.0f times", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		var v user
		if err := Decode(p, buf, &v); err != nil || v != u {
			t.Error(err)
		}
	}); n != 1 {
		t.Errorf("decoding allocates %.0f times, want 1", n)
	}
}

// TestAppend_refusesARecordOf4GiB has it of fields that are all one and the same string.
func TestAppend_refusesARecordOf4GiB(t *testing.T) {
	const fields, size = 1025, 4 << 20
	var own []reflect.StructField
	for i := range fields {
		own = append(own, reflect.StructField{Name: fmt.Sprint("F", i), Type: reflect.TypeFor[string]()})
	}
	typ := reflect.StructOf(own)
	l, err := Of(typ)
	if err != nil {
		t.Fatal(err)
	}
	v, text := reflect.New(typ).Elem(), strings.Repeat("x", size)
	for i := range fields {
		v.Field(i).SetString(text)
	}
	dst, err := l.append([]byte("before"), address(v))
	if string(dst) != "before" || err == nil || !strings.Contains(err.Error(), "4 GiB") {
		t.Errorf("got %d bytes and the error %v", len(dst), err)
	}
}
