package opentelemetry_test

import (
	"context"
	"fmt"

	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/opentelemetry"
)

// A program registers a database with its own provider. This one is read by hand.
func ExampleRegister() {
	reader := sdk.NewManualReader() // or a periodic reader that sends to a collector
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	db, err := stoat.OpenMemory(nil)
	check(err)
	defer db.Close()
	registration, err := opentelemetry.Register(provider.Meter("shop"), db, "orders")
	check(err)
	defer registration.Unregister()

	check(db.Put([]byte("stoat"), []byte("Mustela erminea")))
	var all metricdata.ResourceMetrics
	check(reader.Collect(context.Background(), &all))
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "stoat.commits" {
			point := m.Data.(metricdata.Sum[float64]).DataPoints[0]
			database, _ := point.Attributes.Value(opentelemetry.Attribute)
			fmt.Println(m.Name, database.AsString(), point.Value)
		}
	}

	// Output:
	// stoat.commits orders 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
