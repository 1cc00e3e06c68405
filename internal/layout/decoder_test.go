package layout

import (
	"encoding/hex"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// goldenRecord is the record of someone, in schema 300. It is on disk and must never change.
const goldenRecord = "ac02" + // the number
	"0700000000000000" + "01" + "000000000000f83f" + // ID, Active, Score
	"010000000000000002000000" + "01000000000000000000000000000002" + // Seen, Token
	"39300000" + // Home.Zip
	"01" + "0304080b0d18181a" + // the ends
	"416e6e" + "c3" + "426f6e6e" + "020001" + "0109" + // Name, Raw, Home.City, Flags, Boss
	"03" + "016101" + "0162ff" + "02636303" + "05fb" // Rates, Last

// someone has fields of many types.
type someone struct {
	ID     int
	Active bool
	Score  float64
	Seen   time.Time
	Token  [16]byte
	Name   string
	Raw    []byte
	Home   struct {
		City string
		Zip  uint32
	}
	Flags []bool
	Boss  *uint8
	Rates map[string]int8
	Empty []string
	Last  [2]int8
}

// goldenValue is what goldenRecord is the record of.
func goldenValue() someone {
	boss := uint8(9)
	s := someone{ID: 7, Active: true, Score: 1.5, Seen: time.Unix(1, 2).UTC(),
		Token: [16]byte{1, 15: 2}, Name: "Ann", Raw: []byte{0xC3}, Flags: []bool{false, true},
		Boss: &boss, Rates: map[string]int8{"b": -1, "a": 1, "cc": 3}, Last: [2]int8{5, -5}}
	s.Home.City, s.Home.Zip = "Bonn", 12345
	return s
}

func TestAppend_writesTheFormat(t *testing.T) {
	v := goldenValue()
	got := hex.EncodeToString(mustAppend(t, mustOf[someone](t).Numbered(300), &v))
	if got != goldenRecord {
		t.Errorf("the record is\n%s, want\n%s", got, goldenRecord)
	}
}

func TestDecode_readsTheFormat(t *testing.T) {
	record, err := hex.DecodeString(goldenRecord)
	if err != nil {
		t.Fatal(err)
	}
	l := mustOf[someone](t).Numbered(300)
	var got someone
	if err := Decode(mustPlan(t, l, l), record, &got); err != nil {
		t.Fatal(err)
	}
	if want := goldenValue(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if n, err := Number(record); n != 300 || err != nil {
		t.Errorf("the number is %d, %v", n, err)
	}
}

// The first version of a type, and the present one, which can still read its records.
type (
	partV1 struct {
		Name  string
		Gone  []map[string]uint8
		Count uint16
	}
	docV1 struct {
		A       int8
		Removed string
		B       uint32
		C       float32
		D       string
		E       []byte
		Old     int16
		Home    struct{ Town string }
		Parts   []partV1
		Map     map[uint8]partV1
		Ptr     *int32
		Arr     [2]uint8
		F, G    uint16
		Same    time.Time
		Unread  [3]string
	}
	partV2 struct {
		Count int64 `stoat:"Count"`
		Added string
		Title string `stoat:"Title,was=Name"`
	}
	docV2 struct {
		Same  time.Time
		A     int
		B     int64
		C     float64
		D     []byte
		E     string
		New   int64 `stoat:"New,was=older|Old|Oldest"`
		House struct {
			City string `stoat:"city,was=Town"`
		} `stoat:"house,was=Home"`
		Parts []partV2
		Map   map[int32]partV2
		Ptr   *float64
		Arr   [2]int16
		F     float32
		G     float64
		Added []string
		Extra struct{ X, Y int }
	}
)

func TestPlan_readsWhatAnOlderTypeWrote(t *testing.T) {
	three := int32(-3)
	parts := []partV1{{"p", []map[string]uint8{{"x": 1}, nil}, 65535}, {"q", nil, 1}}
	old := docV1{A: -1, Removed: "r", B: math.MaxUint32, C: -0.5, D: "d", E: []byte("e"), Old: -7,
		Home: struct{ Town string }{"T"}, Parts: parts, Map: map[uint8]partV1{255: parts[0]},
		Ptr: &three, Arr: [2]uint8{1, 255}, F: 65535, G: 9, Same: time.Unix(5, 5).UTC()}
	from, to := mustOf[docV1](t).Numbered(1), mustOf[docV2](t).Numbered(2)
	p := mustPlan(t, from, to)
	var got, want docV2
	got.Added, got.Extra.X = []string{"before"}, 1
	if err := Decode(p, mustAppend(t, from, &old), &got); err != nil {
		t.Fatal(err)
	}
	minus := -3.0
	now := []partV2{{65535, "", "p"}, {1, "", "q"}}
	want.A, want.B, want.C, want.D, want.E = -1, math.MaxUint32, -0.5, []byte("d"), "e"
	want.New, want.House.City, want.Parts = -7, "T", now
	want.Map, want.Ptr = map[int32]partV2{255: now[0]}, &minus
	want.Arr, want.F, want.G, want.Same = [2]int16{1, 255}, 65535, 9, old.Same
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}

	for name, want := range map[string]int64{"A": -1, "B": math.MaxUint32, "New": -7, "Extra.Y": 0} {
		f, err := p.Field(name)
		if err != nil {
			t.Fatal(err)
		}
		if v, err := f.Int(mustAppend(t, from, &old)); v != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", name, v, err, want)
		}
	}
}

// one makes a struct type with one field.
func one[T any](name, tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{{Name: name, Type: reflect.TypeFor[T](),
		Tag: reflect.StructTag(`stoat:"` + tag + `"`)}})
}

func TestNewPlan_allowsOnlyWhatLosesNothing(t *testing.T) {
	types := map[string]reflect.Type{
		"bool": one[bool]("A", ""), "int8": one[int8]("A", ""), "int16": one[int16]("A", ""),
		"int32": one[int32]("A", ""), "int64": one[int]("A", ""), "uint8": one[uint8]("A", ""),
		"uint16": one[uint16]("A", ""), "uint32": one[uint32]("A", ""), "uint64": one[uint]("A", ""),
		"float32": one[float32]("A", ""), "float64": one[float64]("A", ""),
		"time": one[time.Time]("A", ""), "uuid": one[[16]byte]("A", ""),
		"string": one[string]("A", ""), "bytes": one[[]byte]("A", ""), "opaque": one[version]("A", ""),
	}
	allowed := map[string]string{
		"int8": "int16 int32 int64 float32 float64", "int16": "int32 int64 float32 float64",
		"int32":  "int64 float64",
		"uint8":  "uint16 uint32 uint64 int16 int32 int64 float32 float64",
		"uint16": "uint32 uint64 int32 int64 float32 float64", "uint32": "uint64 int64 float64",
		"float32": "float64", "string": "bytes", "bytes": "string",
	}
	for from, a := range types {
		for to, b := range types {
			l, err := Of(a)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Of(b)
			if err != nil {
				t.Fatal(err)
			}
			_, err = NewDecoder(l.Schema(), m)
			want := from == to || strings.Contains(" "+allowed[from]+" ", " "+to+" ")
			if (err == nil) != want {
				t.Errorf("%s to %s: %v", from, to, err)
			}
			message := "field A is stored as " + from + ", which cannot become " + to + " without loss"
			if err != nil && !strings.Contains(err.Error(), message) {
				t.Errorf("%s to %s: the error is not clear: %v", from, to, err)
			}
		}
	}
}

func TestNewPlan_refusesOtherShapes(t *testing.T) {
	type inner struct{ X, Y int8 }
	type other struct{ X string }
	for name, c := range map[string]struct{ from, to reflect.Type }{
		"element":            {one[[]int]("A", ""), one[[]int8]("A", "")},
		"list to array":      {one[[]int]("A", ""), one[[2]int]("A", "")},
		"array length":       {one[[3]int]("A", ""), one[[2]int]("A", "")},
		"key":                {one[map[int]int]("A", ""), one[map[string]int]("A", "")},
		"map value":          {one[map[int]int]("A", ""), one[map[int]string]("A", "")},
		"optional":           {one[*int]("A", ""), one[int]("A", "")},
		"field of element":   {one[[]inner]("A", ""), one[[]other]("A", "")},
		"struct to optional": {one[inner]("A", ""), one[*inner]("A", "")},
		"optional to struct": {one[*inner]("A", ""), one[inner]("A", "")},
		"twice": {one[int]("A", ""), reflect.TypeFor[struct {
			B int `stoat:"B,was=A"`
			C int `stoat:"C,was=A"`
		}]()},
		"twice in an element": {one[[]inner]("A", ""), reflect.TypeFor[struct {
			A []struct {
				B int8 `stoat:"B,was=X"`
				X int8
			}
		}]()},
	} {
		l, err := Of(c.from)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Of(c.to)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewDecoder(l.Schema(), m); err == nil {
			t.Errorf("%s: a plan was made", name)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

func TestNewPlan_advisesNoLoss(t *testing.T) {
	type old struct{ A, B int }
	type reused struct {
		B int `stoat:"B,was=A"`
		A int
	}
	type twice struct {
		C int `stoat:"C,was=A"`
		D int `stoat:"D,was=A"`
	}
	type renamed struct {
		New int `stoat:"New,was=A"`
		A   int
	}
	stored := mustOf[old](t).Schema()
	if _, err := NewDecoder(stored, mustOf[reused](t)); err != nil {
		t.Errorf("both names are stored: %v", err)
	}
	for want, l := range map[string]*Layout{
		"remove the former name":                       mustOf[twice](t),
		"choose a name other than A for the new field": mustOf[renamed](t),
	} {
		if _, err := NewDecoder(stored, l); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}

func TestDecode_reportsDamage(t *testing.T) {
	l := mustOf[someone](t).Numbered(300)
	p := mustPlan(t, l, l)
	v := goldenValue()
	record := mustAppend(t, l, &v)
	for n := range record {
		var got someone
		if err := Decode(p, record[:n], &got); !errors.Is(err, corrupt.Err) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	var got someone
	longer := append(record[:len(record):len(record)], 0)
	if err := Decode(p, longer, &got); !errors.Is(err, corrupt.Err) {
		t.Errorf("a byte more: %v", err)
	}
	err := Decode(p, append([]byte{5}, record...), &got)
	if err == nil || !strings.Contains(err.Error(), "schema 5 instead of 300") {
		t.Errorf("another schema: %v", err)
	}
	record[len("ac02")/2+8] = 2
	if err := Decode(p, record, &got); !errors.Is(err, corrupt.Err) {
		t.Errorf("a bool of 2: %v", err)
	}
}
