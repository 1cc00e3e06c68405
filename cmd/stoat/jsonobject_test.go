package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

func FuzzJSONObject(f *testing.F) {
	for _, text := range []string{
		`{}`, ` { } `, `{"a":1,"b":"x","a":null}`, `{ "a" : [1, {"b":"]}\""}, 2] , "\u0061\\":-1.5e3}`,
		`{"a":{"b":{}},"c":[[]],"d":true,"":""}`, `[]`, `"x"`, `{"a`, `{"\ud800":"\ud800"}`,
		"{\"a\":1}\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !isJSON(text) {
			return
		}
		var want map[string]json.RawMessage
		isObject := json.Unmarshal(text, &want) == nil && want != nil
		var o jsonObject
		if o.parse(text) != isObject {
			t.Fatalf("%q is an object: %v", text, isObject)
		}
		got := map[string]json.RawMessage{}
		for _, field := range o.fields {
			got[string(field.name)] = field.raw
			if raw, found := o.get(string(field.name)); !found || len(raw) == 0 {
				t.Fatalf("%q is not found in %q", field.name, text)
			}
		}
		if isObject && fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("of %q the fields are %q, want %q", text, got, want)
		}
		for name, raw := range want {
			var text string
			if raw[0] == '"' && json.Unmarshal(raw, &text) == nil && string(unquoted(raw)) != text {
				t.Fatalf("the text of %s is %q, want %q", name, unquoted(raw), text)
			}
		}
	})
}
