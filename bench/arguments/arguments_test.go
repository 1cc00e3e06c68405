package arguments

import (
	"bytes"
	"errors"
	"flag"
	"slices"
	"strings"
	"testing"
)

func newFlags() (f *flag.FlagSet, all *bool) {
	f = flag.NewFlagSet("test", flag.ContinueOnError)
	return f, f.Bool("all", false, "everything")
}

func TestParse_takesFlagsBehindOperands(t *testing.T) {
	f, all := newFlags()
	var out bytes.Buffer
	got, err := Parse(f, []string{"a", "-all", "b"}, "usage", &out)
	if err != nil || !*all || !slices.Equal(got, []string{"a", "b"}) || out.Len() > 0 {
		t.Errorf("%q, all %v, %v, printed %q", got, *all, err, out.String())
	}
}

func TestParse_printsOnlyWhenAskedForHelp(t *testing.T) {
	f, _ := newFlags()
	var out bytes.Buffer
	if _, err := Parse(f, []string{"-none"}, "usage", &out); err == nil || out.Len() > 0 {
		t.Errorf("%v, printed %q", err, out.String())
	}
	_, err := Parse(f, []string{"a", "-h"}, "usage: it", &out)
	text := out.String()
	if !errors.Is(err, flag.ErrHelp) || !strings.HasPrefix(text, "usage: it\n") ||
		!strings.Contains(text, "everything") {
		t.Errorf("%v, printed %q", err, text)
	}
}
