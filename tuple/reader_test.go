package tuple_test

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat/tuple"
)

func TestReader_takesOneElementAfterTheOther(t *testing.T) {
	at := time.Unix(-5, 7).UTC()
	p := encode(t, nil, true, -1, uint64(math.MaxUint64), 0.5, "a\x00", []byte(nil), at, [16]byte{1},
		"skipped", tuple.Desc("b"), tuple.Desc(-300), tuple.Descending{}, tuple.Desc([16]byte{2}))
	r := tuple.NewReader(p)
	var got tuple.Tuple
	take := func(v any, err error) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, v)
	}
	take(r.Nil(), nil)
	take(r.Nil(), nil)
	for _, read := range []func(){
		func() { v, err := r.Bool(); take(v, err) },
		func() { v, err := r.Int(); take(v, err) },
		func() { v, err := r.Uint(); take(v, err) },
		func() { v, err := r.Float(); take(v, err) },
		func() { v, err := r.String(); take(v, err) },
		func() { v, err := r.Bytes(); take(v, err) },
		func() { v, err := r.Time(); take(v, err) },
		func() { v, err := r.UUID(); take(v, err) },
		func() { take(nil, r.Skip()) },
		func() { v, err := r.String(); take(v, err) },
		func() { v, err := r.Int(); take(v, err) },
		func() { take(r.Nil(), nil) },
		func() { v, err := r.UUID(); take(v, err) },
	} {
		read()
	}
	take(nil, r.End())
	want := tuple.Tuple{true, false, true, int64(-1), uint64(math.MaxUint64), 0.5, "a\x00", []byte{},
		at, [16]byte{1}, nil, "b", int64(-300), true, [16]byte{2}, nil}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

func TestReader_saysWhatItFound(t *testing.T) {
	big, negative := encode(t, uint64(math.MaxUint64)), encode(t, -1)
	for _, c := range []struct {
		p    []byte
		read func(*tuple.Reader) error
		want string
	}{
		{nil, func(r *tuple.Reader) error { return r.Skip() },
			"tuple element 0: found nothing, want an element"},
		{nil, func(r *tuple.Reader) error { _, err := r.Int(); return err },
			"tuple element 0: found nothing, want an integer"},
		{encode(t, "a"), func(r *tuple.Reader) error { _, err := r.Int(); return err },
			"tuple element 0: found a string, want an integer"},
		{encode(t, tuple.Desc(1)), func(r *tuple.Reader) error { _, err := r.Time(); return err },
			"tuple element 0: found an integer, want a time"},
		{encode(t, 0.5), func(r *tuple.Reader) error { return r.End() },
			"tuple element 0: found a float, want nothing"},
		{[]byte{0x7F}, func(r *tuple.Reader) error { return r.Skip() },
			"tuple element 0: malformed: unknown tag 0x7f"},
		{big, func(r *tuple.Reader) error { _, err := r.Int(); return err },
			"tuple element 0: 18446744073709551615 is out of the range of int64: read it with Uint"},
		{negative, func(r *tuple.Reader) error { _, err := r.Uint(); return err },
			"tuple element 0: -1 is negative: read it with Int"},
	} {
		r := tuple.NewReader(c.p)
		for range 2 { // what fails takes nothing
			if err := c.read(r); err == nil || err.Error() != c.want {
				t.Errorf("%x: got %v, want %s", c.p, err, c.want)
			}
		}
	}
}

func TestReader_lenIsWhatIsLeft(t *testing.T) {
	first := tuple.AppendString(nil, "a\x00b")
	r := tuple.NewReader(tuple.AppendInt(first, 500))
	for _, want := range []int{len(first) + 3, 3, 0} {
		if r.Len() != want {
			t.Errorf("%d bytes are left, want %d", r.Len(), want)
		}
		if r.More() {
			if err := r.Skip(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
