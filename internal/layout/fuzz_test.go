package layout

import (
	"bytes"
	"encoding/hex"
	"reflect"
	"testing"
)

// unhex returns the bytes of a golden text.
func unhex(tb testing.TB, text string) []byte {
	tb.Helper()
	p, err := hex.DecodeString(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// FuzzParseSchema parses any bytes: they are refused or exactly what the schema is stored as, and a
// plan that can be made from the schema can be used on any bytes.
func FuzzParseSchema(f *testing.F) {
	f.Add(unhex(f, goldenSchema), unhex(f, goldenRecord))
	v1 := mustOf[docV1](f)
	f.Add(v1.Schema().Append(nil), mustAppend(f, v1, &docV1{Parts: make([]partV1, 2)}))
	layouts := []*Layout{mustOf[someone](f), mustOf[docV2](f), mustOf[person](f)}
	f.Fuzz(func(t *testing.T, schema, record []byte) {
		s, err := ParseSchema(schema)
		if err != nil {
			return
		}
		if again := s.Append(nil); !bytes.Equal(again, schema) {
			t.Fatalf("%x is accepted as %s, which is %x", schema, s, again)
		}
		untyped, err := FromSchema(s.Fields, func(string) []string { return nil })
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range append([]*Layout{untyped}, layouts...) {
			p, err := NewDecoder(s, l)
			if err != nil {
				continue
			}
			_ = p.decode(record, address(reflect.New(l.typ).Elem()))
			readAll(p, record)
		}
	})
}

// FuzzDecode decodes any bytes: they are refused, or what they decode to decodes from its own
// record again.
func FuzzDecode(f *testing.F) {
	f.Add(unhex(f, goldenRecord))
	l := mustOf[someone](f).Numbered(300)
	plan := mustPlan(f, l, l)
	older := mustOf[docV1](f).Numbered(1)
	evolved := mustPlan(f, older, mustOf[docV2](f))
	f.Add(mustAppend(f, older, &docV1{D: "d", Parts: []partV1{{Name: "p"}},
		Map: map[uint8]partV1{1: {}}}))
	f.Fuzz(func(t *testing.T, record []byte) {
		readAll(plan, record)
		readAll(evolved, record)
		var doc docV2
		_ = Decode(evolved, record, &doc)
		var v, again someone
		if Decode(plan, record, &v) != nil {
			return
		}
		first := mustAppend(t, l, &v)
		if err := Decode(plan, first, &again); err != nil {
			t.Fatal(err)
		}
		if second := mustAppend(t, l, &again); !bytes.Equal(first, second) {
			t.Fatalf("%x decodes to what is %x and then %x", record, first, second)
		}
		name := mustField(t, plan, "Name")
		text, err := name.String(record)
		if err != nil || text != v.Name {
			t.Fatalf("Name is %q, %v, want %q", text, err, v.Name)
		}
		spliced, err := replace(nil, record, name, v.Name+"!")
		if err != nil {
			t.Fatal(err)
		}
		if err := Decode(plan, spliced, &again); err != nil || again.Name != v.Name+"!" {
			t.Fatalf("Name is %q, %v, after it was replaced", again.Name, err)
		}
	})
}

// readAll calls every accessor of every field, for what must not happen.
func readAll(p *Decoder, record []byte) {
	for _, f := range p.fields {
		_, _ = f.Int(record)
		_, _ = f.Uint(record)
		_, _ = f.Float(record)
		_, _ = f.Bool(record)
		_, _ = f.Time(record)
		_, _ = f.UUID(record)
		_, _ = f.Bytes(record)
		_, _ = f.Value(record)
		if f.same && f.val.kind == String {
			_, _ = replace(nil, record, f, "replaced")
		}
	}
}
