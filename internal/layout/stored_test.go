package layout

import (
	"testing"
	"time"
)

func TestStored_readsFieldsThatTheTypeHasNoMore(t *testing.T) {
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
	p := mustPlan(t, from, mustOf[now](t))
	at := time.Unix(5, 6).UTC()
	record := mustAppend(t, from, &old{"n", -7, at, "text", 0.5, 1 << 63, true, [16]byte{9},
		[]byte("r"), []int{1}})
	stored := func(name string) *Field {
		t.Helper()
		f, err := p.Stored(name)
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
	if _, err := Replace(nil, record, stored("Gone"), int64(1)); err == nil {
		t.Error("a stored field is replaced")
	}
	if _, err := p.Stored("x"); err == nil {
		t.Error("there is a field x")
	}
}
