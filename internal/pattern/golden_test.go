package pattern

import (
	"encoding/hex"
	"strings"
	"testing"
)

// goldenDictionary is what handmade returns, serialised.
const goldenDictionary = `
01 06 00 00 02 08 04 05 83 01 04 69 64 3a 20 03
0c 00 e8 07 01 05 20 61 6e 64 20 0b 68 65 6c 6c
6f 2c 20 77 6f 72 6c 64 81 0e 00 82 0e 01 81 05
04 81 0f 00 81 08 04 00 01 81 02 03 00 03 81 04
05 00 08 81 05 00 00 08 82 06 00 01 2b 01 01 3d
81 07 06 00 0c 81 09 00 81 0a 00 82 0b 26 00 00
01 01 5a 81 0c 1e 00 80 a0 f8 fa 05 81 0d 16 00
00 81 10 11 08 00 81 11 0a 04 00 81 03 40 00 00
`

// goldenValues are values and what they are encoded as.
var goldenValues = []struct{ value, encoded string }{
	{"", ""},
	{"?", "3f00"},
	{"hello, world", "0c"},
	{"hello, worldhello, worldhello, world!", "241d4202"},
	{"id: 1001 and 1001", "080009"},
	{"id: 5000 and 0042 00042", "00fd880ae00012520110"},
	{"00ff00ff00ff 00FF00FF", "4900fe01fe01fe1d400ae01fe03f"},
	{"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "8def0301a5237f0492e6ff13625a7e9e089e0b791169e60d93265666dca1e41615"},
	{"a-b_c-d_e-f_g-h_A1b2C3", "43d1fcede7fceef7fcef07fdf007eacd16ee"},
	{"123e4567-e89b-12d3-a456-426614174000", "33649ccace3137a447a98cc42c288e0020"},
	{"123E4567-E89B-12D3-A456-426614174000", "2b649ccace3137a447a98cc42c288e0020"},
	{"2006-01-02T15:04:05Z", "bb1c28770808"},
	{"2024-02-29 23:59:59", "c79fc2a011"},
	{"9999-12-31", "2728301b"},
	{"\x01\x02\x00\x00\x00\x00\x00\x00", "578080"},
	{"\x00\x00\x02\x01", "778001"},
	{"18446744073709551615", "cfffffffffffffff7f"},
}

// Dictionaries and encoded values on disk look like this, so this must never change.
func TestDictionary_writesTheFormat(t *testing.T) {
	d := handmade(t)
	if got := hex.EncodeToString(d.Append(nil)); got != unspaced(goldenDictionary) {
		t.Errorf("the dictionary is\n%s", spaced(got))
	}
	e := d.NewEncoder()
	for _, g := range goldenValues {
		if got := hex.EncodeToString(e.Append(nil, []byte(g.value))); got != g.encoded {
			t.Errorf("{%q, %q},", g.value, got)
		}
	}
}

func TestDictionary_readsTheFormat(t *testing.T) {
	serial, err := hex.DecodeString(unspaced(goldenDictionary))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(serial)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range goldenValues {
		encoded, err := hex.DecodeString(g.encoded)
		if err != nil {
			t.Fatal(err)
		}
		checkDecodes(t, d, encoded, []byte(g.value))
	}
}

func unspaced(s string) string { return strings.Join(strings.Fields(s), "") }

// spaced returns hex digits in lines of 16 bytes.
func spaced(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i += 2 {
		b.WriteString(s[i : i+2])
		if i%32 == 30 {
			b.WriteByte('\n')
		} else {
			b.WriteByte(' ')
		}
	}
	return b.String()
}
