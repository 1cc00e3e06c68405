package tuple_test

import (
	"bytes"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/tuple"
)

// golden are tuples and their encodings, which are on disk and must never change.
var golden = []struct {
	values  tuple.Tuple
	encoded string
}{
	{tuple.Tuple{}, ""},
	{tuple.Tuple{nil}, "02"},
	{tuple.Tuple{false, true}, "0405"},
	{tuple.Tuple{int64(0), int64(1), int64(255), int64(256)}, "14150115ff160100"},
	{tuple.Tuple{int64(-1), int64(-255), int64(-256)}, "13fe130012feff"},
	{tuple.Tuple{int64(math.MinInt64)}, "0c7fffffffffffffff"},
	{tuple.Tuple{uint64(math.MaxUint64)}, "1cffffffffffffffff"},
	{tuple.Tuple{0.0, -1.5}, "208000000000000000204007ffffffffffff"},
	{tuple.Tuple{math.Copysign(0, -1)}, "207fffffffffffffff"},
	{tuple.Tuple{math.NaN()}, "20fff8000000000001"},
	{tuple.Tuple{"", "a\x00b\x01"}, "2800286101016201" + "0200"},
	{tuple.Tuple{[]byte{}, []byte{0xFF}}, "2c002cff00"},
	{tuple.Tuple{time.Unix(1, 2).UTC()}, "30800000000000000100000002"},
	{tuple.Tuple{[16]byte{1, 15: 2}}, "3401000000000000000000000000000002"},
	{tuple.Tuple{tuple.Desc("a"), tuple.Desc(int64(1))}, "d79eff" + "eafe"},
}

func TestEncode_writesTheFormat(t *testing.T) {
	for _, g := range golden {
		if got := hex.EncodeToString(encode(t, g.values...)); got != g.encoded {
			t.Errorf("%v is %s, want %s", g.values, got, g.encoded)
		}
	}
}

func TestDecode_readsTheFormat(t *testing.T) {
	for _, g := range golden {
		p, err := hex.DecodeString(g.encoded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tuple.Decode(p)
		if err != nil || compareTuples(got, g.values) != 0 {
			t.Errorf("%s is %v, %v, want %v", g.encoded, got, err, g.values)
		}
	}
}

func TestEncode_ordersAsTheValuesDo(t *testing.T) {
	values := edges()
	for _, a := range values {
		for _, b := range values {
			want, got := compare(a, b), bytes.Compare(encode(t, a), encode(t, b))
			if got != want {
				t.Errorf("%#v and %#v compare as %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestEncode_ordersTuples(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	few := random(r, edges(), 12)
	for range 20_000 {
		a, b := random(r, few, r.IntN(4)), random(r, few, r.IntN(4))
		want, got := compareTuples(a, b), bytes.Compare(encode(t, a...), encode(t, b...))
		if got != want {
			t.Fatalf("%#v and %#v compare as %d, want %d", a, b, got, want)
		}
	}
}

func TestDecode_returnsWhatWasEncoded(t *testing.T) {
	values := edges()
	got, err := tuple.Decode(encode(t, values...))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, values, same) {
		t.Errorf("got %#v, want %#v", got, values)
	}
}

type (
	userID  int32
	flags   uint16
	ratio   float32
	name    string
	blob    []byte
	anID    [16]byte
	oneByte uint8
)

func TestEncode_takesNamedTypesByTheirKind(t *testing.T) {
	named := encode(t, userID(-7), flags(7), ratio(0.5), name("a"), blob("b"), anID{1},
		[]oneByte{2}, [16]oneByte{3}, int8(1), uint(2))
	plain := encode(t, -7, 7, 0.5, "a", []byte("b"), [16]byte{1},
		[]byte{2}, [16]byte{3}, 1, 2)
	if !bytes.Equal(named, plain) {
		t.Errorf("%x, want %x", named, plain)
	}
}

func TestAppend_refusesOtherTypes(t *testing.T) {
	for _, v := range []any{
		[]int{1}, [15]byte{}, &struct{}{}, struct{}{}, map[string]int{}, 1i, uintptr(1),
		tuple.Desc([]string{}), tuple.Desc(tuple.Desc(1)), make(chan int), func() {},
	} {
		got, err := tuple.Append([]byte("x"), 1, v)
		if err == nil || string(got) != "x" {
			t.Errorf("%T: got %q, %v", v, got, err)
			continue
		}
		if !strings.Contains(err.Error(), "tuple element 1: a value of type ") {
			t.Errorf("%T: the error does not say where it is: %v", v, err)
		}
	}
}

func TestAppend_allocatesNothingWhenTyped(t *testing.T) {
	key := make([]byte, 0, 200)
	now, text := time.Unix(1, 2), []byte("ab\x00")
	allocs := testing.AllocsPerRun(100, func() {
		key = tuple.AppendNil(key[:0])
		key = tuple.AppendBool(key, true)
		key = tuple.AppendInt(key, -3)
		key = tuple.AppendUint(key, 1<<40)
		key = tuple.AppendFloat(key, 0.5)
		key = tuple.AppendString(key, "ab")
		key = tuple.AppendBytes(key, text)
		key = tuple.AppendUUID(key, [16]byte{1})
		key = tuple.AppendTime(key, now)
		tuple.Invert(key[len(key)-13:])
	})
	want := encode(t, nil, true, -3, uint64(1<<40), 0.5, "ab", text, [16]byte{1}, tuple.Desc(now))
	if allocs != 0 || !bytes.Equal(key, want) {
		t.Errorf("%.0f allocations, and %x, want %x", allocs, key, want)
	}
}

func TestDecode_refusesWhatIsNotCanonical(t *testing.T) {
	for _, c := range []struct{ encoded, reason string }{
		{"00", "unknown tag 0x00"}, {"80", "unknown tag 0x80"}, {"ff", "unknown tag 0xff"},
		{"1500", "wrong length"}, {"16", "cut short"}, {"1600ff", "wrong length"},
		{"13ff", "wrong length"}, {"12ff00", "wrong length"}, {"0c7ffffffffffffffe", "wrong length"},
		{"20ff", "cut short"}, {"20fff8000000000000", "NaN"}, {"200000000000000000", "NaN"},
		{"28", "cut short"}, {"2861", "cut short"}, {"28010300", "escape"},
		{"280100", "escape"}, {"2c010000", "escape"}, {"3080000000000000013b9aca00", "nanoseconds"},
		{"34ff", "cut short"}, {"d79e", "cut short"}, {"0202020210", "element 4"},
	} {
		p, err := hex.DecodeString(c.encoded)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tuple.Decode(p)
		if err == nil || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%s: got %v, %v, want an error with %q", c.encoded, got, err, c.reason)
		}
	}
}

func TestPrefix_coversTheTuplesThatBeginSo(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tuples := []tuple.Tuple{{"a"}, {"a", int64(-1)}, {"a", int64(5)}, {"a", tuple.Desc("x")},
		{"a\x00"}, {"ab"}, {tuple.Desc("a"), int64(1)}, {tuple.Desc("a")}}
	err = db.Update(func(tx *stoat.Tx) error {
		for _, v := range tuples {
			if err := tx.Put(encode(t, v...), nil); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r    stoat.Range
		want []tuple.Tuple
	}{
		{tuple.Prefix("a"), tuples[:4]},
		{tuple.Prefix("a", 5), tuples[2:3]},
		{tuple.Prefix(tuple.Desc("a")), []tuple.Tuple{tuples[7], tuples[6]}},
		{tuple.Prefix([]int{}), nil},
		{tuple.Between(tuple.Tuple{"a", 0}, tuple.Tuple{"ab"}), tuples[2:5]},
		{tuple.Between(tuple.Tuple{"ab"}, nil), []tuple.Tuple{tuples[5], tuples[7], tuples[6]}},
		{tuple.Between(tuple.Tuple{1i}, nil), nil},
		{tuple.Between(nil, tuple.Tuple{1i}), nil},
	} {
		var got []tuple.Tuple
		err := db.View(func(tx *stoat.Tx) error {
			for key := range tx.Keys(c.r) {
				v, err := tuple.Decode(key)
				if err != nil {
					return err
				}
				got = append(got, v)
			}
			return nil
		})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%x to %x: got %v, %v, want %v", c.r.Start, c.r.End, got, err, c.want)
		}
	}
}
