package prom_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/stoatdb/stoat/metrics/prom"
)

var servers = flag.Bool("servers", false, "install a real Prometheus, and have it scrape")

// alerts is the file with the rules.
const alerts = "alerts.yaml"

// TestServers_prometheus has a real Prometheus scrape a database, and asks it what it has seen.
func TestServers_prometheus(t *testing.T) {
	if !*servers {
		t.Skip("needs -servers")
	}
	install(t)
	run(t, "promtool", "check", "rules", alerts)

	handler := promhttp.HandlerFor(registry(t, prom.NewCollector(memory(t, 3), "orders")),
		promhttp.HandlerOpts{})
	var requests atomic.Int32
	second := make(chan struct{}) // once it begins, the first scrape is stored
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 {
			close(second)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(target.Close)

	server, ended := start(t, target.Listener.Addr().String())
	select {
	case <-second:
	case <-ended:
		t.Fatal("Prometheus has ended before its second scrape")
	}
	for query, want := range map[string]string{
		`stoat_commits_total{database="orders"}`: "3",
		`stoat_open`:                             "1",
		`count({__name__=~"stoat_.*"})`:          "33",
	} {
		if got := ask(t, server, query); got != want {
			t.Errorf("%s is %q, want %q", query, got, want)
		}
	}
	t.Logf("trust: %d scrapes by a real Prometheus", requests.Load())
}

// install installs Prometheus from Debian's packages, unless it is there. Needs root.
func install(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("prometheus"); err != nil {
		run(t, "apt-get", "update", "-q")
		run(t, "apt-get", "install", "-qy", "--no-install-recommends", "prometheus")
	}
}

// run runs a program that must succeed.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
}

// start runs a Prometheus that scrapes the target each second. It returns its address, and a
// channel that is closed once it has ended.
func start(t *testing.T, target string) (address string, ended <-chan struct{}) {
	t.Helper()
	rules, err := filepath.Abs(alerts)
	ok(t, err)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yaml")
	ok(t, os.WriteFile(config, fmt.Appendf(nil, `
global: {scrape_interval: 1s, scrape_timeout: 1s}
rule_files: [%q]
scrape_configs:
- job_name: stoat
  static_configs: [{targets: [%q]}]
`, rules, target), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	address = listener.Addr().String()
	ok(t, listener.Close())
	server := exec.CommandContext(t.Context(), "prometheus", "--config.file="+config,
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	server.Stderr = t.Output()
	ok(t, server.Start())
	done := make(chan struct{})
	go func() {
		_ = server.Wait() // a killed program fails
		close(done)
	}()
	t.Cleanup(func() { <-done }) // the end of the context has killed it
	return address, done
}

// ask returns the value of the only result of a query.
func ask(t *testing.T, server, query string) string {
	t.Helper()
	response, err := http.Get("http://" + server + "/api/v1/query?query=" + url.QueryEscape(query))
	ok(t, err)
	defer response.Body.Close()
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	ok(t, json.NewDecoder(response.Body).Decode(&answer))
	if len(answer.Data.Result) != 1 {
		t.Fatalf("%s has %d results, want 1", query, len(answer.Data.Result))
	}
	value, _ := answer.Data.Result[0].Value[1].(string)
	return value
}
