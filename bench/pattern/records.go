package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat/bench/items"
	"github.com/stoatdb/stoat/bench/ssb"
	"github.com/stoatdb/stoat/bench/strategies"
)

const seed = 1

// kind is one kind of records.
type kind struct {
	name string
	load func() ([][]byte, error) // returns no records, and no error, if they are not on this machine
}

// kinds returns all kinds of records, in the order of the table.
func kinds() []kind {
	return []kind{
		{"messages of ssb, JSON", func() ([][]byte, error) { return ssb.Messages(seed, 12_000) }},
		{"users, JSON", func() ([][]byte, error) { return users("json") }},
		{"users, binary", func() ([][]byte, error) { return users("binary") }},
		{"items, JSON", func() ([][]byte, error) { return items.Values(seed, 60_000) }},
		{"log lines, slog JSON", logLines},
		{"events with UUIDs, JSON", events},
		{"counters, binary", counters},
		{"flows, binary", flows},
		{"signed entries, binary", envelopes},
		{"source files, Go", sourceFiles},
		{"declarations, Go", declarations},
		{"packages, Debian", stanzas},
		{"comments of Go, English", comments},
		{"random bytes", randomBytes},
	}
}

func users(strategy string) ([][]byte, error) {
	data, err := strategies.Users(seed)
	if err != nil {
		return nil, err
	}
	return data.Values(strategy, 15_000)
}

func newRandom(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// pick returns one of the texts, the first ones more often than the last.
func pick(r *rand.Rand, texts ...string) string {
	return texts[min(r.IntN(len(texts)), r.IntN(len(texts)))]
}

// logLines returns what log/slog writes for a server's requests.
func logLines() ([][]byte, error) {
	r := newRandom(1)
	var out bytes.Buffer
	h := slog.NewJSONHandler(&out, nil)
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	values := make([][]byte, 20_000)
	for i := range values {
		at = at.Add(time.Duration(r.ExpFloat64() * float64(300*time.Millisecond)))
		out.Reset()
		if err := h.Handle(context.Background(), logRecord(r, at)); err != nil {
			return nil, err
		}
		values[i] = bytes.Clone(bytes.TrimSpace(out.Bytes()))
	}
	return values, nil
}

func logRecord(r *rand.Rand, at time.Time) slog.Record {
	if r.IntN(10) == 0 {
		rec := slog.NewRecord(at, slog.LevelWarn, pick(r, "slow query", "retrying", "cache full"), 0)
		rec.AddAttrs(slog.String("component", pick(r, "store", "index", "mailer")),
			slog.Duration("elapsed", time.Duration(r.IntN(2_000_000_000))),
			slog.Int("attempt", 1+r.IntN(5)),
			slog.String("trace", fmt.Sprintf("%016x", r.Uint64())))
		return rec
	}
	rec := slog.NewRecord(at, slog.LevelInfo, "request", 0)
	path := pick(r, "/", "/api/v1/users/", "/api/v1/orders/", "/static/app.js", "/search?q=")
	if path[len(path)-1] == '/' && len(path) > 1 {
		path += fmt.Sprint(r.IntN(100_000))
	}
	rec.AddAttrs(slog.String("method", pick(r, "GET", "POST", "PUT", "DELETE")),
		slog.String("path", path),
		slog.Int("status", []int{200, 200, 200, 201, 204, 304, 404, 500}[r.IntN(8)]),
		slog.Int("bytes", int(r.ExpFloat64()*5000)),
		slog.Duration("elapsed", time.Duration(r.ExpFloat64()*3e7)),
		slog.Group("client",
			slog.String("ip", fmt.Sprintf("10.%d.%d.%d", r.IntN(4), r.IntN(256), r.IntN(256))),
			slog.String("agent", pick(r, "curl/8.5.0", "Mozilla/5.0 (X11; Linux x86_64)",
				"Go-http-client/2.0", "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_4)"))),
		slog.String("trace", fmt.Sprintf("%016x", r.Uint64())))
	return rec
}

// event is an event in a shop.
type event struct {
	ID       string    `json:"id"`
	Type     string    `json:"type"`
	At       time.Time `json:"occurred_at"`
	Customer string    `json:"customer_id"`
	Session  string    `json:"session_id,omitempty"`
	Amount   float64   `json:"amount,omitempty"`
	Currency string    `json:"currency,omitempty"`
	SKU      string    `json:"sku,omitempty"`
	Count    int       `json:"count,omitempty"`
	Version  int       `json:"version"`
}

func events() ([][]byte, error) {
	r := newRandom(2)
	customers := make([]string, 2000)
	for i := range customers {
		customers[i] = uuid(r)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	values := make([][]byte, 18_000)
	for i := range values {
		at = at.Add(time.Duration(r.IntN(5000)) * time.Millisecond)
		e := event{
			ID: uuid(r), At: at, Customer: customers[r.IntN(len(customers))], Version: 3,
			Type: pick(r, "page.viewed", "cart.item_added", "order.placed", "order.paid"),
		}
		switch e.Type {
		case "page.viewed":
			e.Session = uuid(r)
		case "cart.item_added":
			e.SKU, e.Count = fmt.Sprintf("SKU-%06d", r.IntN(30_000)), 1+r.IntN(4)
		default:
			e.Amount, e.Currency = float64(r.IntN(50_000))/100, pick(r, "EUR", "USD", "GBP")
		}
		var err error
		if values[i], err = json.Marshal(e); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// uuid returns a random UUID.
func uuid(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	a = a&^0xF000 | 0x4000
	b = b&^(3<<62) | 2<<62
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xFFFF, a&0xFFFF, b>>48,
		b&(1<<48-1))
}
