package salvage

import (
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/wal"
)

// source is the entries of one layer in the order of their keys.
type source interface {
	// next moves to the next entry that can be read and reports whether there is one.
	next() bool
	// key returns the current key. It stays valid.
	key() []byte
	// entry returns the current entry, whose value stays valid; if that cannot be read, why.
	entry() (e keyspace.Entry, problem string)
}

// layer is data of one age.
type layer struct {
	source  source
	deleted keyspace.Spans // what it deletes of older layers
}

// layers returns all layers, newest first.
func (p *plan) layers(ctx context.Context) ([]layer, error) {
	if p.version == nil {
		return p.guessedLayers(ctx)
	}
	var all []layer
	for _, number := range p.logs {
		if number < p.version.LogNumber {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all = append(all, p.log(number))
	}
	slices.Reverse(all)
	for _, r := range p.version.Young {
		all = append(all, layer{p.run(r.Tables), r.Deleted})
	}
	return append(all, layer{source: p.run(p.version.Bottom.Tables)}), nil
}

// guessedLayers returns a layer for each log and each table, by their numbers.
func (p *plan) guessedLayers(ctx context.Context) ([]layer, error) {
	numbers := slices.Concat(p.logs, p.tables)
	slices.Sort(numbers)
	var all []layer
	for _, number := range slices.Backward(slices.Compact(numbers)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.has(wal.Name(number)) {
			all = append(all, p.log(number))
		}
		if p.has(run.Name(number)) {
			all = append(all, layer{source: p.run([]*manifest.Table{{Number: number}})})
		}
	}
	return all, nil
}

// run returns the source of a run of tables.
func (p *plan) run(tables []*manifest.Table) source {
	return &tableSource{plan: p, tables: tables, recorder: p.recorder}
}
