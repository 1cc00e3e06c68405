package feed_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/feed"
)

// part is a struct within a list.
type part struct {
	Name  string
	Count uint8
}

// everything has a field of each kind.
type everything struct {
	Yes    bool
	Small  int8
	Number int
	Large  uint64
	Single float32
	Double float64
	At     time.Time
	ID     [16]byte
	Text   string
	Raw    []byte
	Words  []string
	Ratios []float32
	Maybe  *int32
	Home   struct{ City, Street string }
	Ages   map[string]int64
	Names  map[uint16]string
	Parts  []part
	Three  [3]int16
	Addr   netip.Addr
}

func randomThing(r *rand.Rand) (e everything) {
	text := func() string { return fmt.Sprint("text <", r.Uint32()>>r.IntN(32), ">\xff"[:r.IntN(3)]) }
	e.Yes, e.Small, e.Number = r.IntN(2) == 0, int8(r.Uint32()), int(r.Int64())
	e.Large, e.Single, e.Double = r.Uint64(), r.Float32(), r.NormFloat64()
	e.At = time.Unix(r.Int64N(1<<40), r.Int64N(1e9)).UTC()
	e.Text, e.Home.City, e.Home.Street = text(), text(), text()
	for i := range e.ID {
		e.ID[i] = byte(r.Uint32())
	}
	e.Addr = netip.AddrFrom16(e.ID)
	for range r.IntN(4) {
		e.Raw = append(e.Raw, byte(r.Uint32()))
		e.Words, e.Ratios = append(e.Words, text()), append(e.Ratios, r.Float32())
		e.Parts = append(e.Parts, part{text(), uint8(r.Uint32())})
		if e.Ages == nil {
			e.Ages, e.Names = map[string]int64{}, map[uint16]string{}
		}
		e.Ages[text()], e.Names[uint16(r.Uint32())] = r.Int64(), text()
	}
	if r.IntN(2) == 0 {
		n := int32(r.Uint32())
		e.Maybe = &n
	}
	for i := range e.Three {
		e.Three[i] = int16(r.Uint32())
	}
	return e
}

// fields returns the fields of a value as a feed without its type has them.
func (e *everything) fields(t testing.TB) map[string]any {
	t.Helper()
	addr, err := e.Addr.MarshalBinary()
	ok(t, err)
	all := map[string]any{
		"Yes": e.Yes, "Small": int64(e.Small), "Number": int64(e.Number), "Large": e.Large,
		"Single": float64(e.Single), "Double": e.Double, "At": e.At, "ID": e.ID, "Text": e.Text,
		"Raw": append([]byte{}, e.Raw...), "Home.City": e.Home.City, "Home.Street": e.Home.Street,
		"Addr": addr, "Maybe": nil,
	}
	words, ratios, parts, three := []any{}, []any{}, []any{}, []any{}
	for i, p := range e.Parts {
		words, ratios = append(words, e.Words[i]), append(ratios, float64(e.Ratios[i]))
		parts = append(parts, map[string]any{"Name": p.Name, "Count": uint64(p.Count)})
	}
	for _, n := range e.Three {
		three = append(three, int64(n))
	}
	ages, names := map[any]any{}, map[any]any{}
	for k, v := range e.Ages {
		ages[k] = v
	}
	for k, v := range e.Names {
		names[uint64(k)] = v
	}
	all["Words"], all["Ratios"], all["Parts"], all["Three"] = words, ratios, parts, three
	all["Ages"], all["Names"] = ages, names
	if e.Maybe != nil {
		all["Maybe"] = int64(*e.Maybe)
	}
	return all
}

func TestStored_hasTheFieldsOfStructs(t *testing.T) {
	r := random(t)
	db := memory(t)
	f := open[everything](t, db, nil)
	var want []everything
	for range 200 {
		want = append(want, randomThing(r))
	}
	appendAll(t, db, f, want...)
	view(t, db, func(tx *stoat.Tx) {
		s := openStored(t, tx)
		equal(t, s.Encoding(), "struct")
		size := 0
		for e, err := range s.Query().All(tx) {
			ok(t, err)
			size += len(e.Value.Bytes())
			got := map[string]any{}
			for _, name := range e.Value.Names() {
				got[name], err = e.Value.Field(name)
				ok(t, err)
			}
			if wanted := want[e.Seq].fields(t); !reflect.DeepEqual(got, wanted) {
				t.Errorf("entry %d: got %#v, want %#v", e.Seq, got, wanted)
			}
			_, err = e.Value.Field("Home")
			wantErr(t, err, stoat.ErrNotFound)
		}
		bytes, err := s.Size(tx)
		ok(t, err)
		equal(t, bytes, uint64(size))
		fields, err := s.Fields(tx)
		ok(t, err)
		equal(t, len(fields), len(want[0].fields(t)))
		equal(t, fields[10], feed.StoredField{Name: "Words", Type: "list of string"})
	})
}

func TestStored_showsValuesOfEveryEncoding(t *testing.T) {
	type note struct{ Text string }
	db := memory(t)
	raw, err := feed.Open[[]byte](db, "bytes", nil)
	ok(t, err)
	appendAll(t, db, raw, []byte("a\x00"), []byte{})
	asJSON, err := feed.Open(db, "json", &feed.Options[note]{Encoding: feed.EncodingJSON})
	ok(t, err)
	appendAll(t, db, asJSON, note{Text: "<"})
	structs, err := feed.Open[note](db, "struct", nil)
	ok(t, err)
	appendAll(t, db, structs, note{Text: "a"}, note{Text: "gone"})
	update(t, db, func(tx *stoat.Tx) { ok(t, structs.Redact(tx, 1)) })
	for name, want := range map[string]string{
		"bytes":  `"a\x00" [] "" [] `,
		"json":   `"{\"Text\":\"\\u003c\"}" [] `,
		"struct": `"\x01\x01\x01a" [Text] "" [] `,
	} {
		view(t, db, func(tx *stoat.Tx) {
			s, err := feed.OpenStored(tx, name)
			ok(t, err)
			equal(t, s.Encoding(), name)
			equal(t, s.Name(), name)
			got := ""
			for e, err := range s.Query().WithRedacted().All(tx) {
				ok(t, err)
				got += fmt.Sprintf("%q %v ", e.Value.Bytes(), e.Value.Names())
			}
			equal(t, got, want)
		})
	}
}

func TestStored_showsEntriesOfAnUnknownSchemaAsBytes(t *testing.T) {
	db := memory(t)
	appendAll(t, db, open[post](t, db, nil), post{Text: "known"}, post{Text: "unknown"})
	update(t, db, func(tx *stoat.Tx) {
		root, err := tx.Bucket([]byte("feed"))
		ok(t, err)
		entries, err := root.Bucket([]byte("entries"))
		ok(t, err)
		ok(t, entries.Put([]byte{7: 1}, []byte{1, 0, 0, 99, 'x'})) // of schema 99
	})
	view(t, db, func(tx *stoat.Tx) {
		var last feed.Entry[feed.StoredValue]
		for e, err := range openStored(t, tx).Query().All(tx) {
			ok(t, err)
			last = e
		}
		equal(t, string(last.Value.Bytes()), "cx")
		equal(t, len(last.Value.Names()), 0)
		_, err := last.Value.Field("Text")
		wantErr(t, err, stoat.ErrCorrupt)
	})
}
