// Package prom exports the metrics of databases to Prometheus.
//
//	registry.MustRegister(prom.NewCollector(db, "orders"))
//
// The numbers are read when they are scraped, and only then; no transaction waits for that. All
// metrics start with stoat_, and have the label database. docs/observability.md lists them, with
// rules for alerts.
package prom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/internal/metric"
	"github.com/stoatdb/stoat/remote"
)

// Label is the name of the label that tells databases apart.
const Label = "database"

// NewCollector returns a collector of the metrics of db. Each database of a registry needs a name
// of its own. Once db is closed, stoat_open is 0 and the only metric. The collector keeps db in
// memory: unregister it if the process goes on without db.
func NewCollector(db *stoat.DB, name string) prometheus.Collector {
	return newCollector(metric.Of(db), name)
}

// NewRemoteCollector is [NewCollector] for a database that ships itself; it also says how far that
// is.
func NewRemoteCollector(db *remote.DB, name string) prometheus.Collector {
	return newCollector(metric.OfRemote(db), name)
}

// NewReaderCollector is [NewCollector] for a database that another process writes; it also says how
// far the reader is behind.
func NewReaderCollector(r *remote.Reader, name string) prometheus.Collector {
	return newCollector(metric.OfReader(r), name)
}

// collector is a [prometheus.Collector]. It is immutable and safe for concurrent use.
type collector struct {
	source metric.Source
	descs  []*prometheus.Desc // of the metrics of source
}

func newCollector(source metric.Source, name string) *collector {
	c := &collector{source: source}
	labels := prometheus.Labels{Label: name}
	for _, m := range source.Metrics {
		c.descs = append(c.descs, prometheus.NewDesc(m.Prometheus(), m.Help, nil, labels))
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range c.descs {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	for i, value := range c.source.Read() {
		kind := prometheus.GaugeValue
		if c.source.Metrics[i].Counter {
			kind = prometheus.CounterValue
		}
		to <- prometheus.MustNewConstMetric(c.descs[i], kind, value)
	}
}
