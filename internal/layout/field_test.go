package layout

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// mustField returns a field of the layout's own records.
func mustField(tb testing.TB, p *Decoder, name string) *Field {
	tb.Helper()
	f, err := p.Field(name)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

func TestField_readsOneValue(t *testing.T) {
	l := mustOf[someone](t).Numbered(300)
	p := mustPlan(t, l, l)
	v := goldenValue()
	record := mustAppend(t, l, &v)
	check := func(got any, err error, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	id, err := mustField(t, p, "ID").Int(record)
	check(id, err, int64(7))
	active, err := mustField(t, p, "Active").Bool(record)
	check(active, err, true)
	score, err := mustField(t, p, "Score").Float(record)
	check(score, err, 1.5)
	seen, err := mustField(t, p, "Seen").Time(record)
	check(seen, err, v.Seen)
	token, err := mustField(t, p, "Token").UUID(record)
	check(token, err, v.Token)
	zip, err := mustField(t, p, "Home.Zip").Uint(record)
	check(zip, err, uint64(12345))
	city, err := mustField(t, p, "Home.City").String(record)
	check(city, err, "Bonn")
	raw, err := mustField(t, p, "Raw").Bytes(record)
	check(raw, err, v.Raw)

	if _, err := p.Field("Home"); err == nil {
		t.Error("there is a field Home")
	}
	for name, read := range map[string]func(*Field) error{
		"Score cannot be int": func(f *Field) error { _, err := f.Int(record); return err },
		"ID cannot be uint":   func(f *Field) error { _, err := f.Uint(record); return err },
		"ID cannot be bytes":  func(f *Field) error { _, err := f.Bytes(record); return err },
		"Flags cannot be bool": func(f *Field) error {
			_, err := f.Bool(record)
			return err
		},
	} {
		field, _, _ := strings.Cut(name, " ")
		err := read(mustField(t, p, field))
		if err == nil || !strings.Contains(err.Error(), "cannot be read as") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestField_readsZeroWhatRecordsDoNotHave(t *testing.T) {
	type nothing struct{}
	from := mustOf[nothing](t)
	p := mustPlan(t, from, mustOf[someone](t))
	record := mustAppend(t, from, &nothing{})
	id, err1 := mustField(t, p, "ID").Int(record)
	zip, err2 := mustField(t, p, "Home.Zip").Uint(record)
	score, err3 := mustField(t, p, "Score").Float(record)
	active, err4 := mustField(t, p, "Active").Bool(record)
	seen, err5 := mustField(t, p, "Seen").Time(record)
	token, err6 := mustField(t, p, "Token").UUID(record)
	name, err7 := mustField(t, p, "Name").String(record)
	for _, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if err != nil {
			t.Error(err)
		}
	}
	if id != 0 || zip != 0 || score != 0 || active || !seen.IsZero() || token != [16]byte{} ||
		name != "" {
		t.Error("something is not zero")
	}
	_, err := replace(nil, record, mustField(t, p, "ID"), 5)
	if err == nil || !strings.Contains(err.Error(), "encode it with the current schema") {
		t.Errorf("a field that records do not have is replaced: %v", err)
	}
}

func TestReplace_isAsIfEncodedSo(t *testing.T) {
	l := mustOf[someone](t).Numbered(300)
	p := mustPlan(t, l, l)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	var v, with someone
	for range 300 {
		fill(r, reflect.ValueOf(&v).Elem())
		fill(r, reflect.ValueOf(&with).Elem())
		if r.IntN(5) == 0 {
			with.Home.City = strings.Repeat("x", r.IntN(70_000))
		}
		record := mustAppend(t, l, &v)
		var err [6]error
		record, err[0] = replace(nil, record, mustField(t, p, "Home.City"), with.Home.City)
		record, err[1] = replace(record[:0], record, mustField(t, p, "Seen"), with.Seen)
		record, err[2] = replace(nil, record, mustField(t, p, "Rates"), with.Rates)
		record, err[3] = replace(nil, record, mustField(t, p, "Last"), with.Last)
		record, err[4] = replace(nil, record, mustField(t, p, "Name"), "")
		record, err[5] = replace([]byte("before"), record, mustField(t, p, "ID"), with.ID)
		for _, err := range err {
			if err != nil {
				t.Fatal(err)
			}
		}
		v.Home.City, v.Seen, v.Rates, v.Last = with.Home.City, with.Seen, with.Rates, with.Last
		v.Name, v.ID = "", with.ID
		if got, want := string(record), "before"+string(mustAppend(t, l, &v)); got != want {
			t.Fatalf("%+v:\n got %x\nwant %x", v, got, want)
		}
	}
}

func TestReplace_wantsTheVeryType(t *testing.T) {
	l := mustOf[someone](t)
	v := goldenValue()
	record := mustAppend(t, l, &v)
	f := mustField(t, mustPlan(t, l, l), "Seen")
	if _, err := replace(nil, record, f, int64(5)); err == nil {
		t.Error("a time is replaced by a number")
	}
	if _, err := replace(nil, record[1:], f, time.Time{}); err == nil {
		t.Error("a record of another schema is changed")
	}
}

func TestField_allocatesNothing(t *testing.T) {
	l := mustOf[user](t)
	p := mustPlan(t, l, l)
	u := someUser()
	record := mustAppend(t, l, &u)
	age, email := mustField(t, p, "Age"), mustField(t, p, "email")
	if n := testing.AllocsPerRun(100, func() {
		v, err := age.Int(record)
		text, err2 := email.Bytes(record)
		if v != 42 || err != nil || err2 != nil || len(text) != len(u.Email) {
			t.Error(v, text)
		}
		record, err = replace(record[:0], record, age, int32(42))
		if err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%.0f allocations", n)
	}
}
