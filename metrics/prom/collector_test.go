package prom_test

import (
	"errors"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/prom"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// memory returns a database in memory with a number of commits.
func memory(t testing.TB, commits int) *stoat.DB {
	t.Helper()
	db, err := stoat.OpenMemory(nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	for range commits {
		ok(t, db.Put([]byte("a"), []byte("b")))
	}
	return db
}

// registry returns a registry of collectors that checks what they collect against what they
// describe.
func registry(t testing.TB, collectors ...prometheus.Collector) *prometheus.Registry {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		ok(t, r.Register(c))
	}
	return r
}

// scrape returns what a scraper reads: the text, parsed, by name.
func scrape(t testing.TB, r *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	response := httptest.NewRecorder()
	promhttp.HandlerFor(r, promhttp.HandlerOpts{}).ServeHTTP(response,
		httptest.NewRequest("GET", "/metrics", nil))
	if response.Code != 200 {
		t.Fatalf("%d %s", response.Code, response.Body)
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(response.Body)
	ok(t, err)
	return families
}

// values returns the values of a metric by database.
func values(families map[string]*dto.MetricFamily, name string) map[string]float64 {
	all := map[string]float64{}
	for _, m := range families[name].GetMetric() {
		value := m.GetGauge().GetValue() + m.GetCounter().GetValue() // one of them
		all[m.GetLabel()[0].GetValue()] = value
	}
	return all
}

func wantValue(t testing.TB, families map[string]*dto.MetricFamily, name, of string, want float64) {
	t.Helper()
	if got, found := values(families, name)[of]; !found || got != want {
		t.Errorf("%s of %s is %v, want %v", name, of, got, want)
	}
}

func TestCollector_tellsDatabasesApart(t *testing.T) {
	r := registry(t, prom.NewCollector(memory(t, 2), "a"), prom.NewCollector(memory(t, 3), "b"))
	families := scrape(t, r)
	wantValue(t, families, "stoat_commits_total", "a", 2)
	wantValue(t, families, "stoat_commits_total", "b", 3)
	if kind := families["stoat_commits_total"].GetType(); kind != dto.MetricType_COUNTER {
		t.Errorf("the number of commits is a %v", kind)
	}
	if kind := families["stoat_memtable_bytes"].GetType(); kind != dto.MetricType_GAUGE {
		t.Errorf("the memory of memtables is a %v", kind)
	}
	label := families["stoat_open"].GetMetric()[0].GetLabel()[0].GetName()
	if label != prom.Label {
		t.Errorf("the label is %s", label)
	}
	err := r.Register(prom.NewCollector(memory(t, 0), "a"))
	if !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("a second database of the same name: %v", err)
	}
}

func TestCollector_keepsTheConventions(t *testing.T) {
	db, reader := shipped(t)
	problems, err := testutil.GatherAndLint(registry(t, prom.NewCollector(memory(t, 1), "a"),
		prom.NewRemoteCollector(db, "b"), prom.NewReaderCollector(reader, "c")))
	ok(t, err)
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestCollector_saysThatADatabaseIsClosed(t *testing.T) {
	db := memory(t, 1)
	r := registry(t, prom.NewCollector(db, "closed"), prom.NewCollector(memory(t, 1), "open"))
	ok(t, db.Close())
	families := scrape(t, r)
	wantValue(t, families, "stoat_open", "closed", 0)
	wantValue(t, families, "stoat_open", "open", 1)
	for name := range families {
		if _, found := values(families, name)["closed"]; found && name != "stoat_open" {
			t.Errorf("a closed database has %s", name)
		}
	}
}

func TestCollector_mayScrapeWhileTheDatabaseIsClosed(t *testing.T) {
	for range 20 {
		db := memory(t, 1)
		r := registry(t, prom.NewCollector(db, "a"))
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				if _, err := r.Gather(); err != nil {
					t.Error(err)
				}
			})
		}
		ok(t, db.Close())
		all.Wait()
	}
}

// shipped returns a database with one commit that ships itself, and a reader that shows it.
func shipped(t testing.TB) (*remote.DB, *remote.Reader) {
	t.Helper()
	store := memstore.New()
	db, err := remote.Open(t.Context(), store, t.TempDir(), nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, db.Close()) })
	ok(t, db.Put([]byte("a"), []byte("b")))
	ok(t, db.Ship(t.Context()))
	reader, err := remote.OpenReader(t.Context(), store, "", nil)
	ok(t, err)
	t.Cleanup(func() { ok(t, reader.Close()) })
	ok(t, reader.WaitFor(t.Context(), db.Position()))
	return db, reader
}

func TestCollector_saysHowFarADatabaseIsShipped(t *testing.T) {
	db, reader := shipped(t)
	r := registry(t, prom.NewRemoteCollector(db, "writer"), prom.NewReaderCollector(reader, "reader"))
	families := scrape(t, r)
	wantValue(t, families, "stoat_remote_shipped_commit", "writer", 1)
	wantValue(t, families, "stoat_remote_lag_seconds", "writer", 0)
	wantValue(t, families, "stoat_remote_reader_failing", "reader", 0)
	wantValue(t, families, "stoat_commits_total", "reader", 1)
	if values(families, "stoat_remote_reader_requests_total")["reader"] == 0 {
		t.Error("the reader has made no requests")
	}
	ok(t, db.Close())
	ok(t, reader.Close())
	families = scrape(t, r)
	wantValue(t, families, "stoat_open", "writer", 0)
	wantValue(t, families, "stoat_open", "reader", 0)
	if len(families) != 1 {
		t.Errorf("closed databases have %d metrics, want 1", len(families))
	}
}

var metricName = regexp.MustCompile(`stoat_[a-z_]+`)

// TestAlerts_nameMetrics checks that the rules ask for what is exported.
func TestAlerts_nameMetrics(t *testing.T) {
	db, reader := shipped(t)
	families := scrape(t, registry(t, prom.NewRemoteCollector(db, "a"),
		prom.NewReaderCollector(reader, "b")))
	text, err := os.ReadFile(alerts)
	ok(t, err)
	names := metricName.FindAllString(string(text), -1)
	if len(names) < 8 {
		t.Fatalf("the rules name only %v", names)
	}
	for _, name := range names {
		if families[name] == nil {
			t.Errorf("the rules name %s, which is not exported", name)
		}
	}
	document, err := os.ReadFile("../../docs/observability.md")
	ok(t, err)
	for line := range strings.SplitSeq(string(text), "\n") {
		if name, found := strings.CutPrefix(strings.TrimSpace(line), "- alert: "); found &&
			!slices.Contains(strings.Fields(string(document)), "`"+name+"`") {
			t.Errorf("docs/observability.md does not explain %s", name)
		}
	}
}

func BenchmarkCollect(b *testing.B) {
	r := registry(b, prom.NewCollector(memory(b, 1), "a"))
	for b.Loop() {
		if _, err := r.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
