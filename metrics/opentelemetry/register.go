// Package opentelemetry exports the metrics of databases to OpenTelemetry.
//
//	registration, err := opentelemetry.Register(provider.Meter("shop"), db, "orders")
//
// The numbers are read when a reader of the provider collects them, and only then; no transaction
// waits for that. All instruments start with "stoat.", and their values have the attribute
// "stoat.database". docs/observability.md lists them.
package opentelemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	otel "go.opentelemetry.io/otel/metric"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/internal/metric"
	"github.com/stoatdb/stoat/remote"
)

// Attribute is the key of the attribute that tells databases apart.
const Attribute = attribute.Key("stoat.database")

// Register makes observable instruments for the metrics of db. Each database of a meter needs a
// name of its own. Once db is closed, stoat.open is 0 and the only metric. The registration keeps
// db in memory: end it with Unregister if the process goes on without db.
func Register(meter otel.Meter, db *stoat.DB, name string) (otel.Registration, error) {
	return register(meter, metric.Of(db), name)
}

// RegisterRemote is [Register] for a database that ships itself; it also says how far that is.
func RegisterRemote(meter otel.Meter, db *remote.DB, name string) (otel.Registration, error) {
	return register(meter, metric.OfRemote(db), name)
}

// RegisterReader is [Register] for a database that another process writes; it also says how far the
// reader is behind.
func RegisterReader(meter otel.Meter, r *remote.Reader, name string) (otel.Registration, error) {
	return register(meter, metric.OfReader(r), name)
}

func register(meter otel.Meter, source metric.Source, name string) (otel.Registration, error) {
	instruments := make([]otel.Float64Observable, len(source.Metrics))
	all := make([]otel.Observable, len(source.Metrics))
	for i := range source.Metrics {
		instrument, err := newInstrument(meter, &source.Metrics[i])
		if err != nil {
			return nil, fmt.Errorf("instrument %s: %w", source.Metrics[i].OpenTelemetry(), err)
		}
		instruments[i], all[i] = instrument, instrument
	}
	with := otel.WithAttributeSet(attribute.NewSet(Attribute.String(name)))
	return meter.RegisterCallback(func(_ context.Context, o otel.Observer) error {
		for i, value := range source.Read() {
			o.ObserveFloat64(instruments[i], value, with)
		}
		return nil
	}, all...)
}

func newInstrument(meter otel.Meter, m *metric.Metric) (otel.Float64Observable, error) {
	unit, help := otel.WithUnit(string(m.Unit)), otel.WithDescription(m.Help)
	if m.Counter {
		return meter.Float64ObservableCounter(m.OpenTelemetry(), unit, help)
	}
	return meter.Float64ObservableGauge(m.OpenTelemetry(), unit, help)
}
