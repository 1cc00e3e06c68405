package strategies

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stoatdb/stoat/bench/suite"
)

// oddObjects have fields of all kinds, and lack some.
const oddObjects = `{"name":"Ann <a>","n":1,"x":1,"ok":true,"tags":["a", "b & c"],"-":"y","odd":1}
{"n":-7,"name":"","x":2.5,"ok":false,"tags":null,"-":"","nick":"<bee>","odd":"one"}

{"n":9007199254740993,"name":"Zoë","x":1e300,"ok":true,"tags":{ "k" : 1 },"-":"x","N":2,` +
	`"odd":false,"1st":0}`

func objects(t testing.TB, text string) (*Data, int) {
	t.Helper()
	d, n, err := Objects(strings.NewReader(text))
	ok(t, err)
	return d, n
}

func TestObjects_becomeRecordsOfTypedFields(t *testing.T) {
	d, n := objects(t, oddObjects)
	if n != 3 {
		t.Errorf("%d records", n)
	}
	want := []string{
		"name string", "n int64", "x float64", "ok bool", "tags RawMessage", "- string",
		"odd RawMessage", "nick RawMessage", "N RawMessage", "1st RawMessage",
	}
	var got []string
	for i, name := range d.schema.names {
		got = append(got, name+" "+d.schema.structure.Field(i).Type.Name())
	}
	if strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("fields %q\ninstead of %q", got, want)
	}
	if sum, update := d.schema.names[d.sum], d.schema.names[d.update]; sum != "x" || update != "n" {
		t.Errorf("adds up %s and updates %s", sum, update)
	}
	r := d.schema.newRecord()
	d.fill(r, 1+n)
	encoded, err := newJSON(d.schema).encode(r)
	ok(t, err)
	const second = `{"name":"","n":-7,"x":2.5,"ok":false,"tags":null,"-":"","odd":"one",` +
		`"nick":"\u003cbee\u003e"}`
	if string(encoded) != second {
		t.Errorf("second object is %s", encoded)
	}
}

func TestLayouts_returnObjectsAsWritten(t *testing.T) {
	d, n := objects(t, oddObjects)
	eachLayout(t, d, func(t *testing.T, db DB, l layout) {
		write(t, db, l, d, 2*n)
		verify(t, db, l, d, 2*n, unchanged)
		from := d.schema.newRecord()
		for f := range d.schema.names { // from present to absent and back
			for id := range n {
				d.fill(from, id)
				ok(t, db.Update(func(root Bucket) error { return l.update(root, 1, f, from) }))
			}
		}
		verify(t, db, l, d, 2*n, func(id int, r Record) {
			if id == 1 {
				d.fill(r, n-1)
			}
		})
	})
}

func TestMeasure_takesSomebodysOwnRecords(t *testing.T) {
	for _, s := range Strategies() {
		d, _ := objects(t, oddObjects)
		var samples int
		count := func(_ suite.At, values ...float64) { samples += len(values) }
		ok(t, Measure(tinyJob(t, "stoat", 10), d, s.Name, 10, count))
		if samples == 0 {
			t.Errorf("%s: no samples", s.Name)
		}
	}
}

func TestObjects_sayWhatIsWrongAndWhere(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "no records",
		" \n\n":                  "no records",
		"{\"a\":1}\n\n{\"a\":":   "line 3: unexpected end",
		"{\"a\":1} {\"b\":1}":    "line 1: invalid character",
		"{\"a\":1}\n[1]":         "line 2: the value is not an object",
		"{\"a\":1}\n{}":          "line 2: the object has no fields",
		"{\"a\":1,\"a\":2}":      `line 1: duplicate field "a"`,
		"{\"a\":1}\n{\"a,b\":2}": `field "a,b"`,
		"{\"\":1}":               `field ""`,
	} {
		_, _, err := Objects(strings.NewReader(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, which does not say %q", text, err, want)
		}
	}
	broken := errors.New("broken pipe")
	if _, _, err := Objects(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("error %v instead of the reader's", err)
	}
}
