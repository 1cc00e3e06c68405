package opentelemetry_test

import (
	"testing"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/opentelemetry"
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

// collect returns the instruments by their names.
func collect(t testing.TB, reader sdk.Reader) map[string]metricdata.Metrics {
	t.Helper()
	var all metricdata.ResourceMetrics
	ok(t, reader.Collect(t.Context(), &all))
	found := map[string]metricdata.Metrics{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			found[m.Name] = m
		}
	}
	return found
}

// values returns the values of an instrument by database.
func values(m metricdata.Metrics) map[string]float64 {
	var points []metricdata.DataPoint[float64]
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		points = data.DataPoints
	case metricdata.Gauge[float64]:
		points = data.DataPoints
	}
	all := map[string]float64{}
	for _, p := range points {
		database, _ := p.Attributes.Value(opentelemetry.Attribute)
		all[database.AsString()] = p.Value
	}
	return all
}

func wantValue(t testing.TB, m metricdata.Metrics, of string, want float64) {
	t.Helper()
	if got, found := values(m)[of]; !found || got != want {
		t.Errorf("%s of %s is %v, want %v", m.Name, of, got, want)
	}
}

func TestRegister_tellsDatabasesApart(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	_, err := opentelemetry.Register(meter, memory(t, 2), "a")
	ok(t, err)
	second, err := opentelemetry.Register(meter, memory(t, 3), "b")
	ok(t, err)
	found := collect(t, reader)
	wantValue(t, found["stoat.commits"], "a", 2)
	wantValue(t, found["stoat.commits"], "b", 3)
	commits, isSum := found["stoat.commits"].Data.(metricdata.Sum[float64])
	if !isSum || !commits.IsMonotonic {
		t.Errorf("the number of commits is %T", found["stoat.commits"].Data)
	}
	memtable := found["stoat.memtable"]
	if _, isGauge := memtable.Data.(metricdata.Gauge[float64]); !isGauge || memtable.Unit != "By" ||
		memtable.Description == "" {
		t.Errorf("the memory of memtables is %+v", memtable)
	}

	ok(t, second.Unregister())
	if _, found := values(collect(t, reader)["stoat.open"])["b"]; found {
		t.Error("a database that is no longer registered is reported")
	}
}

func TestRegister_saysThatADatabaseIsClosed(t *testing.T) {
	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	db := memory(t, 1)
	_, err := opentelemetry.Register(meter, db, "a")
	ok(t, err)
	wantValue(t, collect(t, reader)["stoat.open"], "a", 1)
	ok(t, db.Close())
	found := collect(t, reader)
	wantValue(t, found["stoat.open"], "a", 0)
	if len(found) != 1 {
		t.Errorf("a closed database has %d metrics, want 1", len(found))
	}
}

func TestRegister_saysHowFarADatabaseIsShipped(t *testing.T) {
	store := memstore.New()
	db, err := remote.Open(t.Context(), store, t.TempDir(), nil)
	ok(t, err)
	defer db.Close()
	ok(t, db.Put([]byte("a"), []byte("b")))
	ok(t, db.Ship(t.Context()))
	replica, err := remote.OpenReader(t.Context(), store, "", nil)
	ok(t, err)
	defer replica.Close()
	ok(t, replica.WaitFor(t.Context(), db.Position()))

	reader := sdk.NewManualReader()
	meter := sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("test")
	_, err = opentelemetry.RegisterRemote(meter, db, "writer")
	ok(t, err)
	_, err = opentelemetry.RegisterReader(meter, replica, "reader")
	ok(t, err)
	found := collect(t, reader)
	wantValue(t, found["stoat.remote.shipped_commit"], "writer", 1)
	wantValue(t, found["stoat.remote.reader.failing"], "reader", 0)
	wantValue(t, found["stoat.commits"], "reader", 1)
}
