package report

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// sections returns the parts of the document about the files by their headings.
func sections(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	var heading string
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
		}
		found[heading] += line
	}
	return found
}

func TestSchema_hasEveryFieldOfTheFile(t *testing.T) {
	parts := sections(t)
	for _, form := range []reflect.Type{
		reflect.TypeFor[Report](), reflect.TypeFor[machine.Description](),
		reflect.TypeFor[Result](), reflect.TypeFor[suite.Settings](),
		reflect.TypeFor[Engine](), reflect.TypeFor[Failure](), reflect.TypeFor[suite.Measurement](),
	} {
		text := parts[form.Name()]
		for _, field := range reflect.VisibleFields(form) {
			if field.Anonymous {
				continue
			}
			if !strings.Contains(text, "\n| `"+field.Name+"` |") {
				t.Errorf("RESULTS.md does not explain %s of %s", field.Name, form.Name())
			}
			optional := strings.Contains(field.Tag.Get("json"), "omitempty")
			said := strings.Contains(lineOf(text, field.Name), "optional")
			if optional != said {
				t.Errorf("%s of %s is optional: %t, but RESULTS.md says %t", field.Name,
					form.Name(), optional, said)
			}
		}
	}
}

func TestSchema_hasEveryColumnOfTheSheet(t *testing.T) {
	text := sections(t)["results.csv"]
	rest := text
	for _, column := range csvHeader() {
		_, after, ok := strings.Cut(rest, "\n| `"+column+"` |")
		if !ok {
			t.Errorf("RESULTS.md does not explain the column %s, or not in its place", column)
			continue
		}
		rest = "\n" + after
	}
}

// lineOf returns the line about a field.
func lineOf(text, field string) string {
	_, after, _ := strings.Cut(text, "\n| `"+field+"` |")
	line, _, _ := strings.Cut(after, "\n")
	return line
}
