// Package metric is the table of what Stoat exports: names, units, help texts, and how to read the
// numbers. The packages that export derive everything from it, so they agree.
//
// A [Source] is safe for concurrent use, and costs nothing until it is read.
package metric

import (
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
)

// Metric is one number that is exported.
type Metric struct {
	name    string // of words and underscores, without prefix and unit
	Unit    Unit
	Counter bool   // it only grows, until the database is opened again; otherwise it is a gauge
	Help    string // one sentence
}

// Unit is what a metric counts, as UCUM writes it, which OpenTelemetry wants. The empty unit is
// that of states, numbers of commits, and the like.
type Unit string

// The units.
const (
	Bytes   Unit = "By"
	Seconds Unit = "s"
)

// Prometheus returns the name by the conventions of Prometheus: stoat_log_written_bytes_total.
func (m *Metric) Prometheus() string {
	name := "stoat_" + m.name
	switch m.Unit {
	case Bytes:
		name += "_bytes"
	case Seconds:
		name += "_seconds"
	}
	if m.Counter {
		name += "_total"
	}
	return name
}

// OpenTelemetry returns the name by the conventions of OpenTelemetry, by which the unit is apart:
// stoat.log_written.
func (m *Metric) OpenTelemetry() string {
	for _, group := range []string{"remote_reader", "remote"} {
		if rest, found := strings.CutPrefix(m.name, group+"_"); found {
			return "stoat." + strings.ReplaceAll(group, "_", ".") + "." + rest
		}
	}
	return "stoat." + m.name
}

// row is a metric and how it is read from a status of type S.
type row[S any] struct {
	Metric
	value func(s *S) float64
}

// Source is a database whose metrics are exported.
type Source struct {
	Metrics []Metric // the first says whether the database is open
	read    func() []float64
}

// Read returns a number for each of the first metrics: for all of them, or only for the first, once
// the database is closed.
func (s Source) Read() []float64 { return s.read() }

// Of returns the metrics of a database.
func Of(db *stoat.DB) Source { return source(db, nil, none) }

// OfRemote returns the metrics of a database that ships itself.
func OfRemote(db *remote.DB) Source { return source(db.DB, remoteRows(), db.Status) }

// OfReader returns the metrics of a database that another process writes.
func OfReader(r *remote.Reader) Source { return source(r.DB, readerRows(), r.Status) }

func none() struct{} { return struct{}{} }

// source joins the metrics of a database with those of a layer.
func source[S any](db *stoat.DB, layer []row[S], status func() S) Source {
	states, stats := stateRows(), statsRows()
	s := Source{}
	s.Metrics = appendMetrics(s.Metrics, states)
	s.Metrics = appendMetrics(s.Metrics, stats)
	s.Metrics = appendMetrics(s.Metrics, layer)
	s.read = func() []float64 {
		values := appendValues(make([]float64, 0, len(s.Metrics)), states, db.Err())
		if values[0] == 0 {
			return values[:1]
		}
		values = appendValues(values, stats, db.Stats())
		return appendValues(values, layer, status())
	}
	return s
}

func appendMetrics[S any](to []Metric, rows []row[S]) []Metric {
	for i := range rows {
		to = append(to, rows[i].Metric)
	}
	return to
}

func appendValues[S any](to []float64, rows []row[S], s S) []float64 {
	for i := range rows {
		to = append(to, rows[i].value(&s))
	}
	return to
}

// stamp is a time in seconds since 1970, 0 if there is none.
func stamp(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMilli()) / 1000
}

// flag is 1 if a condition holds, and 0 otherwise.
func flag(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
