package salvage

import (
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/valuelog"
)

// guessedLayers returns a layer for each log and each table. Files with higher numbers are newer,
// but for logs that were never flushed: those are newer than all tables, though the flush of an
// older log may have taken its numbers later.
func (p *plan) guessedLayers(ctx context.Context) ([]layer, error) {
	flushed, err := p.flushed(ctx)
	if err != nil {
		return nil, err
	}
	numbers := slices.Concat(p.found.Of(folder.Log), p.found.Of(folder.Table))
	slices.Sort(numbers)
	deleted, hidden := p.knownDeletions(), p.hiddenInTables()
	var newest, rest []layer
	for _, number := range slices.Backward(slices.Compact(numbers)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if p.has(folder.Log, number) {
			if l := p.log(number); flushed[number] {
				rest = append(rest, l)
			} else {
				newest = append(newest, l)
			}
		}
		if p.has(folder.Table, number) {
			rest = append(rest, p.single(number, deleted[number], hidden[number]))
		}
	}
	return append(newest, rest...), nil
}

// flushed returns the logs of which everything is in tables. A log that was flushed is removed,
// unless tables point into it.
func (p *plan) flushed(ctx context.Context) (map[uint64]bool, error) {
	found := make(map[uint64]bool)
	if len(p.found.Of(folder.Log)) == 0 {
		return found, nil
	}
	for _, number := range p.found.Of(folder.Log) {
		if p.hints != nil {
			_, valued := p.hints.ValueFile(number)
			found[number] = valued || number < p.hints.LogNumber
		}
	}
	for _, number := range p.found.Of(folder.Table) {
		if err := p.pointedInto(ctx, number, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// pointedInto adds the files to found that a table points into, as far as it can be read.
func (p *plan) pointedInto(ctx context.Context, number uint64, found map[uint64]bool) error {
	s := &tableSource{
		plan: p, tables: []*manifest.Table{{Number: number}}, recorder: new(recorder),
	}
	defer s.close()
	for n := 0; s.next(); n++ {
		if n%askEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if s.keys.Kind(s.at) != keyspace.KindPointer {
			continue
		}
		e, problem := s.entry()
		if at, err := valuelog.ParsePointer(e.Value); problem == "" && err == nil {
			found[at.File] = true
		}
	}
	return nil
}

// knownDeletions returns, by the tables from which on they hold, the range deletions of the runs
// that are known and of which something is left: they delete what is older than the run.
func (p *plan) knownDeletions() map[uint64]keyspace.Spans {
	all := make(map[uint64]keyspace.Spans)
	if p.hints == nil {
		return all
	}
	for _, r := range p.hints.Young {
		oldest := uint64(0)
		for _, t := range r.Tables {
			if p.has(folder.Table, t.Number) && (oldest == 0 || t.Number < oldest) {
				oldest = t.Number
			}
		}
		if oldest > 0 {
			all[oldest] = r.Deleted
		}
	}
	return all
}

// hiddenInTables returns, by the tables that are known, what newer runs delete of them. Numbers do
// not say that: a run may have tables that are older than those that it deletes from.
func (p *plan) hiddenInTables() map[uint64]keyspace.Spans {
	all := make(map[uint64]keyspace.Spans)
	if p.hints == nil {
		return all
	}
	var newer keyspace.Spans
	for _, r := range append(slices.Clone(p.hints.Young), p.hints.Bottom) {
		for _, t := range r.Tables {
			all[t.Number] = newer
		}
		newer = newer.With(r.Deleted...)
	}
	return all
}
