// Command shop is a small web shop: products with a stock, and orders that never sell more than is
// in stock.
//
//	go run ./examples/shop -db shop.db -addr localhost:8080
//
//	curl -d '{"sku":"tea","name":"Green tea","cents":450,"stock":20}' localhost:8080/products
//	curl -d '{"customer":"ada","lines":[{"sku":"tea","count":2}]}' localhost:8080/orders
//	curl localhost:8080/products
//	curl localhost:8080/orders?customer=ada
//
// It shows keys assigned by the collection, updates by a unique index, an index, and the purpose of
// transactions: an order reduces the stock of all its products and is stored itself, or nothing
// happens. That takes no locks and no retries.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
)

func main() {
	dir := flag.String("db", "shop.db", "directory of the database")
	addr := flag.String("addr", "localhost:8080", "address to listen on")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := serve(ctx, *dir, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// serve serves the shop until ctx is done, and then finishes the requests in progress.
func serve(ctx context.Context, dir, addr string) (err error) {
	db, err := stoat.Open(dir, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	s, err := newShop(db)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: addr, Handler: s.handler(), ReadTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	context.AfterFunc(ctx, func() { ended <- server.Shutdown(context.Background()) })
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-ended
}

// product is something to buy.
type product struct {
	ID    uint64 `stoat:"id,key,auto" json:"-"`
	SKU   string `stoat:"sku,unique" json:"sku"` // the number that customers use
	Name  string `stoat:"name" json:"name"`
	Cents int64  `stoat:"cents" json:"cents"`
	Stock int64  `stoat:"stock" json:"stock"`
}

// order is a purchase of a customer.
type order struct {
	ID       uint64 `stoat:"id,key,auto" json:"id"`
	Customer string `stoat:"customer,index" json:"customer"`
	Lines    []line `stoat:"lines" json:"lines"`
	Cents    int64  `stoat:"cents" json:"cents"` // the total at the time of the order
}

// line is a number of one product.
type line struct {
	SKU   string `stoat:"sku" json:"sku"`
	Count int64  `stoat:"count" json:"count"`
}

// most is the maximum price and stock of a product, so that no sum overflows.
const most = 1_000_000

var (
	errSoldOut = errors.New("sold out")
	errInvalid = errors.New("invalid")
)

// shop is the products and orders in a database. It is safe for concurrent use.
type shop struct {
	db       *stoat.DB
	products *record.Collection[product]
	orders   *record.Collection[order]
}

func newShop(db *stoat.DB) (*shop, error) {
	products, err := record.Open[product](db, "products", nil)
	if err != nil {
		return nil, err
	}
	orders, err := record.Open[order](db, "orders", nil)
	return &shop{db, products, orders}, err
}

// addProduct stores a product and assigns its number.
func (s *shop) addProduct(p *product) error {
	if p.SKU == "" || min(p.Cents, p.Stock) < 0 || max(p.Cents, p.Stock) > most {
		return fmt.Errorf("%w: a product needs a sku, and cents and stock from 0 to %d", errInvalid, most)
	}
	return s.db.Update(func(tx *stoat.Tx) error { return s.products.Insert(tx, p) })
}

// place places an order: it takes the products from the stock, or changes nothing.
func (s *shop) place(o *order) error {
	if o.Customer == "" || len(o.Lines) == 0 {
		return fmt.Errorf("%w: an order needs a customer and lines", errInvalid)
	}
	o.ID, o.Cents = 0, 0 // not for the customer to choose
	return s.db.Update(func(tx *stoat.Tx) error {
		for _, l := range o.Lines {
			cents, err := s.take(tx, l)
			if err != nil {
				return err // rolls back what was taken
			}
			o.Cents += cents
		}
		return s.orders.Insert(tx, o)
	})
}

// take takes a line from the stock and returns its price.
func (s *shop) take(tx *stoat.Tx, l line) (cents int64, err error) {
	if l.Count < 1 {
		return 0, fmt.Errorf("%w: the count of %q is %d", errInvalid, l.SKU, l.Count)
	}
	err = s.products.By("sku").Update(tx, l.SKU, func(p *product) error {
		if p.Stock < l.Count {
			return fmt.Errorf("%w: there are %d of %q", errSoldOut, p.Stock, l.SKU)
		}
		p.Stock -= l.Count
		cents = l.Count * p.Cents
		return nil
	})
	return cents, err
}

// handler returns the HTTP interface of the shop.
func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /products", func(w http.ResponseWriter, r *http.Request) {
		post(w, r, s.addProduct)
	})
	mux.HandleFunc("GET /products", func(w http.ResponseWriter, _ *http.Request) {
		get(w, s.db, func(tx *stoat.Tx) iter.Seq2[*product, error] {
			return s.products.By("sku").All(tx)
		})
	})
	mux.HandleFunc("POST /orders", func(w http.ResponseWriter, r *http.Request) {
		post(w, r, s.place)
	})
	mux.HandleFunc("GET /orders", func(w http.ResponseWriter, r *http.Request) {
		customer := r.FormValue("customer")
		get(w, s.db, func(tx *stoat.Tx) iter.Seq2[*order, error] {
			return s.orders.Query().Where(record.Eq("customer", customer)).All(tx)
		})
	})
	return mux
}

// post decodes the request, passes it to do, and answers with the result.
func post[T any](w http.ResponseWriter, r *http.Request, do func(*T) error) {
	v := new(T)
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(v)
	if err != nil {
		err = fmt.Errorf("%w: %w", errInvalid, err)
	} else {
		err = do(v)
	}
	answer(w, http.StatusCreated, v, err)
}

// get answers with all records of an iterator.
func get[T any](w http.ResponseWriter, db *stoat.DB, all func(*stoat.Tx) iter.Seq2[*T, error]) {
	found := []*T{}
	err := db.View(func(tx *stoat.Tx) error {
		for r, err := range all(tx) {
			if err != nil {
				return err
			}
			found = append(found, r)
		}
		return nil
	})
	answer(w, http.StatusOK, found, err)
}

// answer writes the value as JSON, or the error.
func answer[T any](w http.ResponseWriter, status int, v T, err error) {
	switch {
	case errors.Is(err, errInvalid):
		status = http.StatusBadRequest
	case errors.Is(err, stoat.ErrNotFound):
		status = http.StatusNotFound
	case errors.Is(err, errSoldOut), errors.Is(err, record.ErrDuplicate):
		status = http.StatusConflict
	case err != nil:
		status = http.StatusInternalServerError
	}
	if err != nil {
		http.Error(w, err.Error(), status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // fails only if the connection does
}
