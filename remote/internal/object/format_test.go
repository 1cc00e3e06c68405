package object

import (
	"bytes"
	"encoding/hex"
	"os"
	"strings"
	"testing"
)

const formatFile = "../../../docs/remote-format.md"

// example returns the bytes of the hex dump below a heading of the description of the format.
func example(t testing.TB, heading string) []byte {
	t.Helper()
	doc, err := os.ReadFile(formatFile)
	check(t, err)
	_, section, _ := strings.Cut(string(doc), "\n### "+heading+"\n")
	_, section, _ = strings.Cut(section, "```hexdump\n")
	dump, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatalf("%s has no hex dump under %q", formatFile, heading)
	}
	var data []byte
	for line := range strings.Lines(dump) {
		line, _, _ = strings.Cut(line, "|")
		for _, digits := range strings.Fields(line)[1:] {
			b, err := hex.DecodeString(digits)
			check(t, err)
			data = append(data, b...)
		}
	}
	return data
}

func TestFormat_examplesAreWhatIsWritten(t *testing.T) {
	c := newCodec(t)
	claim, err := c.EncodeLog(exampleClaim())
	check(t, err)
	barrier, err := c.EncodeLog(exampleBarrier())
	check(t, err)
	parts, err := c.EncodeLog(exampleParts())
	check(t, err)
	state, err := c.EncodeState(exampleState())
	check(t, err)
	clone, err := c.EncodeLog(exampleClone())
	check(t, err)
	old, err := c.EncodeLog(exampleOldClone())
	check(t, err)
	for heading, got := range map[string][]byte{
		"A clone": clone, "A clone of version 1": old, "A draft": EncodeDraft(exampleDraft()),
		"A claim": claim, "A barrier": barrier, "Parts": parts, "A small state": state,
		"A pin": EncodePin(examplePin()),
	} {
		if !bytes.Equal(got, example(t, heading)) {
			t.Errorf("the example %q in %s should be\n%s", heading, formatFile, hex.Dump(got))
		}
	}
}

func TestFormat_examplesAreDecoded(t *testing.T) {
	c := newCodec(t)
	claim, err := c.DecodeLog("log/1", example(t, "A claim"))
	if err != nil || *claim.Claim != *exampleClaim().Claim {
		t.Errorf("got %+v: %v", claim, err)
	}
	parts, err := c.DecodeLog("log/2", example(t, "Parts"))
	if err != nil || len(parts.Parts) != 3 || parts.Header != exampleParts().Header {
		t.Errorf("got %+v: %v", parts, err)
	}
	for heading, want := range map[string]*Log{
		"A clone": exampleClone(), "A clone of version 1": exampleOldClone(),
	} {
		l, err := c.DecodeLog("log/1", example(t, heading))
		if err != nil || *l.Parts[0].Origin != *want.Parts[0].Origin {
			t.Errorf("%s: got %+v: %v", heading, l, err)
		}
	}
	state, err := c.DecodeState("state/5", example(t, "A small state"))
	if err != nil || state.Header != exampleState().Header {
		t.Errorf("got %+v: %v", state, err)
	}
}
