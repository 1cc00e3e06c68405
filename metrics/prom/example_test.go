package prom_test

import (
	"fmt"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/metrics/prom"
)

// Two databases of a process are scraped together, and told apart by a label.
func Example() {
	registry := prometheus.NewRegistry()
	for _, name := range []string{"orders", "users"} {
		db, err := stoat.OpenMemory(nil)
		check(err)
		defer db.Close()
		registry.MustRegister(prom.NewCollector(db, name))
		check(db.Put([]byte("stoat"), []byte("Mustela erminea")))
	}

	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{}) // serve it under /metrics
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(response.Body.String()) {
		if strings.Contains(line, "stoat_commits_total") {
			fmt.Print(line)
		}
	}

	// Output:
	// # HELP stoat_commits_total Transactions committed since the database was created.
	// # TYPE stoat_commits_total counter
	// stoat_commits_total{database="orders"} 1
	// stoat_commits_total{database="users"} 1
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
