package main

import (
	"strings"
	"testing"
)

func TestExport_refusesEqualNames(t *testing.T) {
	db := stored(t, map[string]string{"a": "1"})
	for _, args := range [][]string{
		{"-jsonl", "-", "-value", "key"},
		{"-jsonl", "-", "-key", "value"},
		{"-jsonl", "-", "-key", "k", "-value", "k64"},
		{"-jsonl", "-", "-key", "k64", "-value", "k"},
		{"-jsonl", "-", "-expires", "value"},
		{"-jsonl", "-", "-key", "expires64"},
		{"-csv", "-", "-value", "key"},
		{"-csv", "-", "-value", "key64"},
		{"-csv", "-", "-expires", "key"},
		{"-csv", "-", "-values", "-value", "expires"},
	} {
		r := execute(t, "", append([]string{"export", db}, args...)...)
		fails(t, r, exitUsage, "another name")
		equal(t, r.out, "")
	}
	for _, args := range [][]string{
		{"-jsonl", "-", "-values", "-value", "key"}, {"-csv", "-", "-values", "-value", "key"},
	} {
		output(t, append([]string{"export", db}, args...)...)
	}
}

func TestExport_writesNoColumnTwice(t *testing.T) {
	for _, c := range []struct {
		entries map[string]string
		args    []string
	}{
		{map[string]string{"\xff": `{"key64":"x"}`}, nil},
		{map[string]string{"\xff": `{"key64":"x"}`}, []string{"-columns", "key64"}},
		{map[string]string{"a": "1"}, []string{"-key", "value"}},
		{map[string]string{"a": "\xff"}, []string{"-key", "value64"}},
	} {
		args := append([]string{"export", "-csv", "-", stored(t, c.entries)}, c.args...)
		r := execute(t, "", args...)
		fails(t, r, exitError, "two columns", "another name")
		equal(t, r.out, "")
	}
	db := stored(t, map[string]string{"a": `{"value":"a"}`})
	equal(t, output(t, "export", "-csv", "-", "-key", "value", db), "value\na\n")
}

func TestExport_ofDeepJSONIsImportedAsItWas(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	db := stored(t, map[string]string{
		"below": nested(9_999), "deepest": nested(10_000), "deeper": nested(10_001),
		"objects": strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
		"wide":    "[" + strings.Repeat("[],", 10_000) + "0]",
	})
	roundTrips(t, db)
	if text := output(t, "export", db, "-jsonl", "-", "-prefix", "wide"); !strings.HasPrefix(text,
		`{"key":"wide","value":[[]`) {
		t.Errorf("wide JSON, which is not deep, is a text: %.40s", text)
	}
}
