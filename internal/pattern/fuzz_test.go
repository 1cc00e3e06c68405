package pattern

import (
	"bytes"
	"testing"
)

// cut cuts p into samples, at each byte that is like the first one.
func cut(p []byte) [][]byte {
	if len(p) == 0 {
		return nil
	}
	return bytes.Split(p[1:], p[:1])
}

// FuzzEncoder round trips any value with a dictionary of any samples, and with one that has all
// kinds of ops.
func FuzzEncoder(f *testing.F) {
	for _, k := range kindsOfRecords {
		values := k.values(30)
		f.Add(append([]byte{'\xFF'}, bytes.Join(values, []byte{'\xFF'})...), values[9])
	}
	f.Add([]byte(",aaaa,aaaa,aaaab,aaaa"), []byte("aaaaaaaaaa"))
	f.Add([]byte(nil), []byte("id: 1234 and 1234 and 2023-04-05T06:07:08Z hello, worldhello, world"))
	made := handmade(f)
	f.Fuzz(func(t *testing.T, samples, value []byte) {
		checkRoundTrip(t, made, value)
		if d := Train(cut(samples)); d != nil {
			checkRoundTrip(t, reparsed(t, d), value)
			for _, sample := range cut(samples)[:1] {
				checkRoundTrip(t, d, sample)
			}
		}
	})
}

func checkRoundTrip(t *testing.T, d *Dictionary, value []byte) {
	t.Helper()
	record := d.NewEncoder().Append(nil, value)
	if len(record) > len(value)+1 {
		t.Fatalf("%d bytes take %d", len(value), len(record))
	}
	checkDecodes(t, d, record, value)
}

// FuzzDictionary decodes any record with any dictionary. Both decoders and the reference must agree
// about it.
func FuzzDictionary(f *testing.F) {
	made := handmade(f)
	for _, value := range []string{"", "hello, world", "id: 1234 and 1234 and 1234",
		"2023-04-05T06:07:08Z and 2023-04-05", "0123456789abcdef"} {
		f.Add(made.Append(nil), made.NewEncoder().Append(nil, []byte(value)))
	}
	for _, k := range kindsOfRecords {
		values := k.values(40)
		d := train(f, values)
		f.Add(d.Append(nil), d.NewEncoder().Append(nil, values[9]))
	}
	f.Fuzz(func(t *testing.T, serial, record []byte) {
		d, err := Parse(serial)
		if err != nil {
			return
		}
		checkRoundTrip(t, d, record)
		size, err := d.DecodedLen(record)
		if size > 1<<20 {
			return
		}
		want, refErr := newReference(serial).decode(record)
		if (err == nil) != (refErr == nil) {
			t.Fatalf("DecodedLen = %d, %v, but the reference says %v", size, err, refErr)
		}
		if err == nil {
			checkDecodes(t, d, record, want)
			return
		}
		if got, err := d.Decode(make([]byte, 0, 1<<12), record); err == nil {
			t.Fatalf("Decode = %q without an error, DecodedLen has one", got)
		}
	})
}
