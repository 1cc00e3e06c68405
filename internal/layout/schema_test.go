package layout

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/internal/corrupt"
)

// goldenSchema is the schema of goldenRecord. It is on disk and must never change.
const goldenSchema = "01ac020e" +
	"02494405" + "0641637469766501" + "0553636f72650b" + "045365656e0c" + "05546f6b656e0d" +
	"044e616d650e" + "035261770f" + "09486f6d652e436974790e" + "08486f6d652e5a697008" +
	"05466c6167731101" + "04426f73731406" + "055261746573130e02" + "05456d707479110e" +
	"044c617374120202"

func TestSchema_writesTheFormat(t *testing.T) {
	s := mustOf[someone](t).Numbered(300).Schema()
	if got := hex.EncodeToString(s.Append(nil)); got != goldenSchema {
		t.Errorf("the schema is\n%s", got)
	}
}

func TestParseSchema_returnsWhatWasAppended(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 300 {
		l, err := Of(randomStruct(r, 4))
		if err != nil {
			continue // a list of empty arrays
		}
		want := l.Numbered(r.Uint64()).Schema()
		got, err := ParseSchema(want.Append(nil))
		if err != nil || !reflect.DeepEqual(got, want) || !got.Equal(want) {
			t.Fatalf("got %s, %v, want %s", got, err, want)
		}
	}
}

func TestSchema_equalsWhatHasTheSameFields(t *testing.T) {
	type inner struct{ A, B int8 }
	type swapped struct{ B, A int8 }
	schemas := []*Schema{
		mustOf[struct{ A int }](t).Schema(), mustOf[struct{ B int }](t).Schema(),
		mustOf[struct{ A int8 }](t).Schema(), mustOf[struct{ A, B int }](t).Schema(),
		mustOf[struct{ A []int }](t).Schema(), mustOf[struct{ A []int8 }](t).Schema(),
		mustOf[struct{ A [2]int }](t).Schema(), mustOf[struct{ A [3]int }](t).Schema(),
		mustOf[struct{ A []inner }](t).Schema(), mustOf[struct{ A []swapped }](t).Schema(),
		mustOf[struct{ A map[int8]int }](t).Schema(), mustOf[struct{ A map[int]int }](t).Schema(),
	}
	for i, a := range schemas {
		for j, b := range schemas {
			if a.Equal(b) != (i == j) {
				t.Errorf("%s and %s: equal is %v", a, b, a.Equal(b))
			}
		}
	}
	if !mustOf[struct{ A int }](t).Numbered(5).Schema().Equal(schemas[0]) {
		t.Error("the number makes a difference")
	}
}

func TestParseSchema_refusesWhatIsNotCanonical(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "version 0": "000000", "no number": "01", "no count": "0100",
		"long number": "01800000", "count without fields": "010001",
		"no name": "01000100" + "01", "dot at the end": "010001" + "02412e" + "01",
		"repeated": "010002" + "014101" + "014101", "kind 0": "010001" + "014100",
		"unknown kind": "010001" + "014116", "trailing": "01000000",
		"struct as field": "010001" + "014115" + "00", "list of nothing": "010001" + "014111" + "1500",
		"map with lists as keys": "010001" + "014113" + "1101" + "01",
		"array too large":        "010001" + "014112" + "ffffffff07" + "05",
		"too deep":               "010001" + "0141" + strings.Repeat("14", 40) + "01",
	} {
		p, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := ParseSchema(p); !errors.Is(err, corrupt.Err) {
			t.Errorf("%s: got %v, %v", name, s, err)
		}
	}
	if _, err := ParseSchema([]byte{2}); !errors.Is(err, corrupt.ErrFormat) {
		t.Errorf("a newer version: %v", err)
	}
}
