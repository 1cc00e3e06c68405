package columns

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRow_alignsAndShortens(t *testing.T) {
	var out strings.Builder
	table := &Table{&out, []int{5, -4}}
	for _, row := range [][]string{{"a", "1", "rest"}, {"abcdefg", "12345"}, {"ä", "", "é"}} {
		if err := table.Row(row...); err != nil {
			t.Fatal(err)
		}
	}
	want := "a         1  rest\nabcd…  123…\nä            é\n"
	if out.String() != want {
		t.Errorf("got\n%s, want\n%s", out.String(), want)
	}
}

func TestRow_fitsIntoATerminal(t *testing.T) {
	var out strings.Builder
	if err := (&Table{&out, []int{10}}).Row("name", strings.Repeat("ö", 100)); err != nil {
		t.Fatal(err)
	}
	line := strings.TrimSuffix(out.String(), "\n")
	if n := utf8.RuneCountInString(line); n != Max || !strings.HasSuffix(line, "…") {
		t.Errorf("%d columns: %s", n, line)
	}
}
