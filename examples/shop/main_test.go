package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat"
)

// open returns a shop in the folder, and its server; close ends both.
func open(t *testing.T, dir string) (server *httptest.Server, close func()) {
	t.Helper()
	db, err := stoat.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newShop(db)
	if err != nil {
		t.Fatal(err)
	}
	server = httptest.NewServer(s.handler())
	return server, func() {
		server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// send posts a body, and returns the status and the answer.
func send(t *testing.T, server *httptest.Server, path, body string) (status int, answer string) {
	t.Helper()
	r, err := http.Post(server.URL+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	return r.StatusCode, string(text)
}

// fetch decodes what is under the path.
func fetch[T any](t *testing.T, server *httptest.Server, path string) (v T) {
	t.Helper()
	r, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// stock posts a product that must be new.
func stock(t *testing.T, server *httptest.Server, sku string, cents, count int64) {
	t.Helper()
	body := fmt.Sprintf(`{"sku":%q,"name":"some","cents":%d,"stock":%d}`, sku, cents, count)
	if status, text := send(t, server, "/products", body); status != http.StatusCreated {
		t.Fatalf("status %d: %s", status, text)
	}
}

func TestShop_sellsAndRemembers(t *testing.T) {
	dir := t.TempDir()
	server, end := open(t, dir)
	stock(t, server, "tea", 450, 20)
	stock(t, server, "cup", 900, 3)
	status, text := send(t, server, "/orders",
		`{"id":7,"cents":1,"customer":"ada","lines":[{"sku":"tea","count":2},{"sku":"cup","count":1}]}`)
	if status != http.StatusCreated || !strings.Contains(text, `"cents":1800`) ||
		!strings.Contains(text, `"id":1,`) {
		t.Errorf("status %d: %s", status, text)
	}
	end()
	server, end = open(t, dir)
	defer end()
	orders := fetch[[]order](t, server, "/orders?customer=ada")
	if len(orders) != 1 || orders[0].Cents != 1800 || len(orders[0].Lines) != 2 {
		t.Errorf("the orders of ada are %+v", orders)
	}
	if others := fetch[[]order](t, server, "/orders?customer=bob"); len(others) != 0 {
		t.Errorf("the orders of bob are %+v", others)
	}
	left := map[string]int64{}
	for _, p := range fetch[[]product](t, server, "/products") {
		left[p.SKU] = p.Stock
	}
	if len(left) != 2 || left["tea"] != 18 || left["cup"] != 2 {
		t.Errorf("left is %v", left)
	}
}

func TestShop_changesNothingForAnOrderItCannotPlace(t *testing.T) {
	server, end := open(t, t.TempDir())
	defer end()
	stock(t, server, "tea", 450, 5)
	for lines, want := range map[string]int{
		`[{"sku":"tea","count":3},{"sku":"tea","count":3}]`:  http.StatusConflict,
		`[{"sku":"tea","count":1},{"sku":"gold","count":1}]`: http.StatusNotFound,
		`[{"sku":"tea","count":1},{"sku":"tea","count":-1}]`: http.StatusBadRequest,
		`[]`: http.StatusBadRequest,
		`[`:  http.StatusBadRequest,
	} {
		body := `{"customer":"ada","lines":` + lines + "}"
		if status, text := send(t, server, "/orders", body); status != want {
			t.Errorf("%s: status %d instead of %d: %s", body, status, want, text)
		}
	}
	status, text := send(t, server, "/products", `{"sku":"tea","cents":1,"stock":1}`)
	if status != http.StatusConflict {
		t.Errorf("second product of the sku: status %d: %s", status, text)
	}
	if p := fetch[[]product](t, server, "/products"); len(p) != 1 || p[0].Stock != 5 {
		t.Errorf("left is %+v", p)
	}
	if orders := fetch[[]order](t, server, "/orders?customer=ada"); len(orders) != 0 {
		t.Errorf("the orders are %+v", orders)
	}
}

func TestShop_neverSellsMoreThanItHas(t *testing.T) {
	server, end := open(t, t.TempDir())
	defer end()
	const tea, cups, customers = 25, 15, 40
	stock(t, server, "tea", 450, tea)
	stock(t, server, "cup", 900, cups)
	var sold sync.Map // with a cup or not, by customer
	var all sync.WaitGroup
	for i := range customers {
		all.Go(func() {
			lines := `{"sku":"tea","count":1}`
			if i%2 == 0 {
				lines += `,{"sku":"cup","count":1}`
			}
			body := fmt.Sprintf(`{"customer":"c%d","lines":[%s]}`, i, lines)
			switch status, text := send(t, server, "/orders", body); status {
			case http.StatusCreated:
				sold.Store(i, i%2 == 0)
			case http.StatusConflict:
			default:
				t.Errorf("status %d: %s", status, text)
			}
		})
	}
	all.Wait()
	left := map[string]int64{"tea": tea, "cup": cups}
	for i := range customers {
		with, ok := sold.Load(i)
		if n := len(fetch[[]order](t, server, fmt.Sprintf("/orders?customer=c%d", i))); (n == 1) != ok {
			t.Errorf("customer %d has %d orders, sold %v", i, n, ok)
		}
		if ok {
			left["tea"]--
		}
		if with == true {
			left["cup"]--
		}
	}
	for _, p := range fetch[[]product](t, server, "/products") {
		if p.Stock != left[p.SKU] || p.Stock < 0 {
			t.Errorf("%d of %s are left instead of %d", p.Stock, p.SKU, left[p.SKU])
		}
	}
	for i := range customers {
		if _, ok := sold.Load(i); !ok && left["tea"] > 0 && (i%2 == 1 || left["cup"] > 0) {
			t.Errorf("the shop refused customer %d although %v is left", i, left)
		}
	}
}
