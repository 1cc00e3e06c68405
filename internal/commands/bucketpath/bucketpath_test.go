package bucketpath

import (
	"errors"
	"slices"
	"testing"
)

func TestParse_readsWhatFormatWrites(t *testing.T) {
	for text, want := range map[string][]string{
		"":           nil,
		"a":          {"a"},
		"a/b":        {"a", "b"},
		`a\/b/c`:     {"a/b", "c"},
		`a\\/b`:      {`a\`, "b"},
		`\xff\x00/ä`: {"\xff\x00", "ä"},
	} {
		got, err := Parse(text)
		if err != nil || !slices.Equal(got, want) || Format(got) != text {
			t.Errorf("%q is read as %q and written as %q (%v)", text, got, Format(got), err)
		}
	}
}

func TestParse_refusesWhatIsNoPath(t *testing.T) {
	for _, text := range []string{"/", "a/", "/a", "a//b", `a\`, `\x`, `\x1`, `\xgg`, `\n`} {
		if names, err := Parse(text); !errors.Is(err, ErrSyntax) || names != nil {
			t.Errorf("%q is read as %q (%v)", text, names, err)
		}
	}
}
