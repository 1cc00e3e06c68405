package main

import (
	"reflect"
	"testing"
	"time"

	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/tuple"
)

func TestParseKey_triesWhatAKeyMayBe(t *testing.T) {
	uuid := "00112233-4455-6677-8899-aabbccddeeff"
	id := [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd,
		0xee, 0xff}
	for text, want := range map[string][]record.Key{
		"milk":                 {"milk"},
		"-7":                   {int64(-7), "-7"},
		"18446744073709551615": {uint64(1<<64 - 1), "18446744073709551615"},
		"1.5":                  {1.5, "1.5"},
		"true":                 {true, "true"},
		`"7"`:                  {"7"},
		"0xff":                 {[]byte{255}, "0xff"},
		uuid:                   {id, uuid},
		"2026-11-22T12:00:00Z": {time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), "2026-11-22T12:00:00Z"},
		`["7", 7, true]`:       {tuple.Tuple{"7", int64(7), true}},
		`["` + uuid + `", ""]`: {tuple.Tuple{id, ""}},
	} {
		got, err := parseKey(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %#v (%v)", text, got, err)
		}
	}
	for _, text := range []string{"[", "[]", "[1"} {
		if got, err := parseKey(text); err == nil {
			t.Errorf("%s is read as %#v", text, got)
		}
	}
}

func TestValueText_isOneLine(t *testing.T) {
	for want, v := range map[string]any{
		"nil": nil, "milk": "milk", `"two words"`: "two words", `"7"`: "7", "7": int64(7),
		"0xff":                    []byte{255},
		"[a, 1]":                  []any{"a", int64(1)},
		"{1: 2, x: y}":            map[any]any{int64(1): int64(2), "x": "y"},
		`{a: "\n"}`:               map[string]any{"a": "\n"},
		"1970-01-01T00:00:00.5Z":  time.Unix(0, 5e8),
		"00112233-4455-6677-8899": [16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99},
	} {
		if got := valueText(v); got != want && got != want+"-000000000000" {
			t.Errorf("%#v is %s, want %s", v, got, want)
		}
	}
}
