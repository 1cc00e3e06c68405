package main

import (
	"errors"
	"flag"
	"fmt"

	"github.com/stoatdb/stoat/internal/commands/columns"
)

// prices is what a provider charges, in dollars or another currency.
type prices struct {
	Write   float64 `json:"write"`   // a million requests that store or list
	Read    float64 `json:"read"`    // a million requests that read
	Storage float64 `json:"storage"` // a gigabyte (10⁹ bytes) and month
}

// priceFlags adds the flags for prices, by default those of S3 in us-east-1.
func priceFlags(flags *flag.FlagSet) *prices {
	p := &prices{}
	flags.Float64Var(&p.Write, "price-write", 5, "`PRICE` of a million requests to store or list")
	flags.Float64Var(&p.Read, "price-read", 0.4, "`PRICE` of a million requests to read")
	flags.Float64Var(&p.Storage, "price-storage", 0.023, "`PRICE` of a GB and month")
	return p
}

// month returns what it costs to store bytes for a month.
func (p *prices) month(bytes int64) float64 { return float64(bytes) / 1e9 * p.Storage }

const secondsOfMonth = 30 * 24 * 3600

// print prints what it costs to store bytes, and to use them.
func (p *prices) print(s *stdio, bytes int64) error {
	t := &columns.Table{Out: s.out, Widths: []int{44, -9}}
	requests := func(price float64, every float64) float64 {
		return price * secondsOfMonth / every / 1e6
	}
	_, err := fmt.Fprintln(s.out)
	for _, row := range []struct {
		what  string
		price float64
	}{
		{"a month of what is stored", p.month(bytes)},
		{"a million requests that store or list", p.Write},
		{"a million requests that read", p.Read},
		{"a month of a writer with commits each second", requests(p.Write, 1)},
		{"a month of a reader that sees each of them", requests(p.Read, 1)},
		{"a month of a reader while nothing happens", requests(p.Read, 10)},
	} {
		err = errors.Join(err, t.Row(row.what, fmt.Sprintf("$%.2f", row.price)))
	}
	return err
}
