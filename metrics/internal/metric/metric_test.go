package metric

import (
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
)

func TestRows_exportEveryFieldOnce(t *testing.T) {
	wantFields(t, statsRows())
	wantFields(t, remoteRows())
	wantFields(t, readerRows(), "Position") // which is opaque; stoat_commits_total says as much
}

// wantFields sets one field after the other and wants one row to show it, except those left out.
func wantFields[S any](t *testing.T, rows []row[S], without ...string) {
	t.Helper()
	shown := map[string]bool{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[S]()) {
		var zero, s S
		set(t, reflect.ValueOf(&s).Elem().FieldByIndex(field.Index))
		var by []string
		for _, r := range rows {
			if r.value(&s) != r.value(&zero) {
				by = append(by, r.name)
				shown[r.name] = true
			}
		}
		if len(by) != 1 && !slices.Contains(without, field.Name) {
			t.Errorf("%T.%s is exported as %v, want one metric: add a row", s, field.Name, by)
		}
	}
	for _, r := range rows {
		if !shown[r.name] {
			t.Errorf("%s shows no field", r.name)
		}
	}
}

// set gives a field a value that is not zero.
func set(t *testing.T, field reflect.Value) {
	t.Helper()
	switch v := field.Addr().Interface().(type) {
	case *uint64:
		*v = 7
	case *int:
		*v = 7
	case *int64:
		*v = 7
	case *time.Duration:
		*v = 7 * time.Second
	case *time.Time:
		*v = time.Unix(7, 0)
	case *error:
		*v = errors.New("failed on purpose")
	case *stoat.Position:
	default:
		t.Fatalf("the test cannot set a %s", field.Type())
	}
}

// all returns all metrics.
func all() []Metric {
	metrics := appendMetrics(nil, stateRows())
	metrics = appendMetrics(metrics, statsRows())
	metrics = appendMetrics(metrics, remoteRows())
	return appendMetrics(metrics, readerRows())
}

func TestNames_areDistinctAndValid(t *testing.T) {
	seen := map[string]bool{}
	valid := regexp.MustCompile(`^stoat(_[a-z]+)+$`)
	for _, m := range all() {
		name, other := m.Prometheus(), m.OpenTelemetry()
		if seen[name] || seen[other] {
			t.Errorf("there are two %s", name)
		}
		seen[name], seen[other] = true, true
		if !valid.MatchString(name) || !valid.MatchString(strings.ReplaceAll(other, ".", "_")) {
			t.Errorf("bad names %s and %s", name, other)
		}
		if !strings.HasSuffix(m.Help, ".") || m.Help != strings.TrimSpace(m.Help) {
			t.Errorf("the help text of %s is not a sentence: %q", name, m.Help)
		}
	}
}

func TestNames_haveUnitAndSuffix(t *testing.T) {
	for want, m := range map[string]Metric{
		"stoat_a stoat.a":                                 {name: "a"},
		"stoat_a_total stoat.a":                           {name: "a", Counter: true},
		"stoat_a_b_bytes stoat.a_b":                       {name: "a_b", Unit: Bytes},
		"stoat_a_seconds_total stoat.a":                   {name: "a", Unit: Seconds, Counter: true},
		"stoat_remote_a_b stoat.remote.a_b":               {name: "remote_a_b"},
		"stoat_remote_reader_a_b stoat.remote.reader.a_b": {name: "remote_reader_a_b"},
	} {
		if got := m.Prometheus() + " " + m.OpenTelemetry(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestDocument_listsTheMetrics compares the tables of docs/observability.md with the code.
func TestDocument_listsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("../../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "| `stoat_") {
			got = append(got, line)
		}
	}
	for _, m := range all() {
		want = append(want, "| `"+m.Prometheus()+"` | `"+m.OpenTelemetry()+"` | "+
			strings.TrimSuffix(m.Help, ".")+" |")
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("the document lacks the line\n%s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("the document has the line that no metric has\n%s", line)
		}
	}
}

func TestRead_ofAClosedDatabaseSaysSo(t *testing.T) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := Of(db)
	if got := s.Read(); len(got) != len(s.Metrics) || got[0] != 1 {
		t.Errorf("%v of an open database with %d metrics", got, len(s.Metrics))
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.Read(); !slices.Equal(got, []float64{0}) {
		t.Errorf("%v of a closed database, want only 0", got)
	}
}

func TestRead_ofAPoisonedDatabaseSaysSo(t *testing.T) {
	poisoned := stateRows()[1].value
	for err, want := range map[error]float64{nil: 0, stoat.ErrPoisoned: 1, stoat.ErrClosed: 0} {
		if got := poisoned(&err); got != want {
			t.Errorf("%v for %v", got, err)
		}
	}
}
