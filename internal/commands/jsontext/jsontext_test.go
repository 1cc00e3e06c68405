package jsontext

import (
	"encoding/json"
	"testing"
)

func TestAppend_isReadBackAsItWas(t *testing.T) {
	texts := []string{"", "plain", "\"quoted\" and \\", "a\nb\tc\x00\x1f", "é 世界 \u2028 <&>"}
	for _, text := range texts {
		var got string
		if err := json.Unmarshal(Append(nil, text), &got); err != nil || got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
		if string(Append(nil, []byte(text))) != string(Append(nil, text)) {
			t.Errorf("%q: bytes and text differ", text)
		}
	}
}
