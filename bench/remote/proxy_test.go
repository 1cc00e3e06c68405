package remote

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stoatdb/stoat/bench/report"
)

func TestClock_drawsTheQuantilesItIsGiven(t *testing.T) {
	for _, d := range delays() {
		c := newClock(1)
		c.set(d)
		samples := make([]float64, 100_000)
		for i := range samples {
			samples[i] = float64(c.draw())
		}
		for share, want := range map[float64]time.Duration{0.5: d.p50, 0.99: d.p99} {
			got := report.Quantile(samples, share)
			if math.Abs(got/float64(want)-1) > 0.03 {
				t.Errorf("%s: quantile %v is %v", d.name, share, time.Duration(got))
			}
		}
	}
}

func TestLink_carriesSoManyBytesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l link
		l.carry(1 << 30)
		l.set(1000)
		start := time.Now()
		for range 10 {
			l.carry(500)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("5,000 bytes took %v at 1,000 a second", took)
		}
	})
}

// at returns an exchange between two moments.
func at(method, path string, start, end int64) exchange {
	return exchange{method: method, path: path, start: time.UnixMilli(start), end: time.UnixMilli(end)}
}

func TestTurns_isTheLongestSeries(t *testing.T) {
	for _, c := range []struct {
		seen traffic
		want int
	}{
		{nil, 0},
		{traffic{at("GET", "a", 1, 5)}, 1},
		{traffic{at("GET", "a", 1, 5), at("GET", "b", 5, 9), at("GET", "c", 9, 10)}, 3},
		// Beside one long exchange, three short ones follow each other.
		{traffic{at("GET", "a", 1, 9), at("GET", "b", 1, 3), at("GET", "c", 4, 6),
			at("GET", "d", 7, 9)}, 3},
		{traffic{at("GET", "a", 1, 5), at("GET", "b", 4, 8)}, 1},
	} {
		if got := c.seen.turns(); got != c.want {
			t.Errorf("%v: %d turns instead of %d", c.seen, got, c.want)
		}
	}
}

func TestPrice_isThatOfS3(t *testing.T) {
	seen := traffic{{method: "PUT"}, {method: "LIST"}, {method: "POST"}, {method: "GET"},
		{method: "HEAD"}, {method: "DELETE"}}
	if got, want := seen.price()*1e6, 15.8; math.Abs(got-want) > 1e-9 {
		t.Errorf("a million of them cost $%v instead of $%v", got, want)
	}
}

func TestLags_endWithTheNextObjectOfTheLog(t *testing.T) {
	seen := traffic{
		at("PUT", "/bench/db/log/2", 2000, 2050),
		at("PUT", "/bench/db/data/1", 1010, 1020),
		at("GET", "/bench/db/log/1", 1015, 1016),
		at("PUT", "/bench/db/log/1", 1000, 1030),
	}
	got := seen.groups("/log/").lags([]float64{999e3, 1500e3, 2001e3}) // the last one was not shipped
	if want := []float64{31e6, 550e6}; !slices.Equal(got, want) {
		t.Errorf("lags %v instead of %v", got, want)
	}
}

func TestProxy_remembersRequests(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(append([]byte(r.Host+" "), body...))
	}))
	defer server.Close()
	p, err := newProxy(strings.TrimPrefix(server.URL, "http://"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.close() }()
	for _, c := range []struct{ method, url, body string }{
		{"PUT", "/bench/a", "12345"}, {"GET", "/bench/a", ""}, {"GET", "/bench/?list-type=2", ""},
	} {
		r, err := http.NewRequest(c.method, "http://"+p.address()+c.url, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		answered, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answered.Body)
		_ = answered.Body.Close()
		if want := p.address() + " " + c.body; err != nil || string(got) != want {
			t.Errorf("%s %s: %q, %v; want %q", c.method, c.url, got, err, want)
		}
	}
	seen := p.take()
	var methods []string
	for _, e := range seen {
		methods = append(methods, e.method)
	}
	if want := []string{"PUT", "GET", "LIST"}; !slices.Equal(methods, want) {
		t.Fatalf("%v instead of %v", methods, want)
	}
	if seen[0].sent != 5 || seen[1].sent != 0 || seen[0].got != int64(len(p.address())+6) {
		t.Errorf("%+v", seen)
	}
	if left := p.take(); len(left) > 0 {
		t.Errorf("%v was taken twice", left)
	}
}
