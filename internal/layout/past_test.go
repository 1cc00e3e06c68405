package layout

import (
	"testing"
	"time"
)

func TestPast_readsFieldsThatTheTypeHasNoMore(t *testing.T) {
	type old struct {
		Name  string
		Gone  int16
		At    time.Time
		Text  string
		Price float32
		Big   uint64
		Yes   bool
		ID    [16]byte
		Raw   []byte
		List  []int
	}
	type now struct{ Name string }
	from := mustOf[old](t)
	p := NewPast([]*Schema{from.Schema(), mustOf[now](t).Numbered(1).Schema()}, nil, true)
	at := time.Unix(5, 6).UTC()
	record := mustAppend(t, from, &old{"n", -7, at, "text", 0.5, 1 << 63, true, [16]byte{9},
		[]byte("r"), []int{1}})
	stored := func(name string) *Field {
		t.Helper()
		f, err := p.Field(0, name)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if v, err := stored("Gone").Int(record); v != -7 || err != nil {
		t.Errorf("Gone is %d, %v", v, err)
	}
	if v, err := stored("At").Time(record); !v.Equal(at) || err != nil {
		t.Errorf("At is %v, %v", v, err)
	}
	if v, err := stored("Text").String(record); v != "text" || err != nil {
		t.Errorf("Text is %q, %v", v, err)
	}
	if v, err := stored("Price").Float(record); v != 0.5 || err != nil {
		t.Errorf("Price is %v, %v", v, err)
	}
	if v, err := stored("Big").Uint(record); v != 1<<63 || err != nil {
		t.Errorf("Big is %d, %v", v, err)
	}
	if v, err := stored("Yes").Bool(record); !v || err != nil {
		t.Errorf("Yes is %t, %v", v, err)
	}
	if v, err := stored("ID").UUID(record); v != [16]byte{9} || err != nil {
		t.Errorf("ID is %x, %v", v, err)
	}
	if v, err := stored("Raw").Bytes(record); string(v) != "r" || err != nil {
		t.Errorf("Raw is %q, %v", v, err)
	}
	if _, err := stored("Text").Int(record); err == nil {
		t.Error("a text is read as an int")
	}
	if _, err := stored("List").Bytes(record); err == nil {
		t.Error("a list is read as bytes")
	}
	if _, err := replace(nil, record, stored("Gone"), int64(1)); err == nil {
		t.Error("a stored field is replaced")
	}
	if _, err := p.Field(0, "x"); err == nil {
		t.Error("there is a field x")
	}
}

func TestPast_knowsAFieldByAllItsNames(t *testing.T) {
	type first struct {
		A uint8
		T string
	}
	type second struct {
		B int32
		N string
	}
	type third struct {
		C float64
		T []byte // another field, where it is stored
	}
	l1, l2, l3 := mustOf[first](t).Numbered(1), mustOf[second](t).Numbered(2),
		mustOf[third](t).Numbered(3)
	p := NewPast([]*Schema{l3.Schema(), l1.Schema(), l2.Schema()},
		map[string]string{"A": "B", "B": "C", "T": "N", "Never": "C"}, false)
	records := map[uint64][]byte{
		1: mustAppend(t, l1, &first{7, "text"}),
		2: mustAppend(t, l2, &second{-8, "new"}),
		3: mustAppend(t, l3, &third{0.5, []byte("own")}),
	}
	wantC := map[uint64]float64{1: 7, 2: -8, 3: 0.5}
	wantN := map[uint64]string{1: "text", 2: "new", 3: "own"}
	for number, record := range records {
		for _, name := range []string{"A", "B", "C", "Never"} {
			f, err := p.Field(number, name)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := f.Float(record); v != wantC[number] || err != nil {
				t.Errorf("schema %d: %s is %v, %v", number, name, v, err)
			}
		}
		for _, name := range []string{"T", "N"} {
			f, err := p.Field(number, name)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := f.String(record); v != wantN[number] || err != nil {
				t.Errorf("schema %d: %s is %q, %v", number, name, v, err)
			}
		}
	}
}

func TestPast_isZeroWhereOnlyOtherSchemasHaveTheField(t *testing.T) {
	type first struct{ A int }
	type second struct {
		A int
		B int64
		S string
	}
	l1, l2 := mustOf[first](t).Numbered(1), mustOf[second](t).Numbered(2)
	p := NewPast([]*Schema{l1.Schema(), l2.Schema()}, nil, true)
	record := mustAppend(t, l1, &first{7})
	f, err := p.Field(1, "B")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := f.Int(record); v != 0 || err != nil {
		t.Errorf("B is %d, %v", v, err)
	}
	if _, err := f.Bool(record); err == nil {
		t.Error("B is read as a bool")
	}
	if f, err = p.Field(1, "S"); err != nil {
		t.Fatal(err)
	}
	if v, err := f.String(record); v != "" || err != nil {
		t.Errorf("S is %q, %v", v, err)
	}
	if _, err = NewPast([]*Schema{l1.Schema(), l2.Schema()}, nil, false).Field(1, "S"); err == nil {
		t.Error("a field is zero that may have had another name")
	}
}
