package salvage

import (
	"context"
	"slices"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
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
	surplus string         // the table that it is, if a key that is only there means lost edits
}

// layers returns all layers, newest first.
func (p *plan) layers(ctx context.Context) ([]layer, error) {
	if p.version == nil {
		return p.guessedLayers(ctx)
	}
	var all []layer
	for _, number := range p.found.Of(folder.Log) {
		if number < p.version.LogNumber {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all = append(all, p.log(number))
	}
	slices.Reverse(all)
	newest, oldest := p.surplusLayers()
	all = append(all, newest...)
	for _, r := range p.version.Young {
		all = append(all, layer{source: p.run(r.Tables), deleted: r.Deleted})
	}
	all = append(all, layer{source: p.run(p.version.Bottom.Tables)})
	return append(all, oldest...), nil
}

// surplusLayers returns layers of the tables that the version does not name, each newest first:
// those flushed after it, and others. The others may be left by a crash, from a compaction of old
// runs or an unfinished transaction; as the oldest layers they hide nothing.
//
// If the logs continue where the version ends, no flush is lost, and losing compactions is no loss.
func (p *plan) surplusLayers() (newest, oldest []layer) {
	if p.first == p.version.LastCommit+1 {
		return nil, nil
	}
	for _, s := range slices.Backward(p.surplus) {
		l, name := p.single(s.number, nil, nil), folder.Table.Name(s.number)
		switch {
		case !s.young: // a compaction, as a rule
			l.surplus = name
			oldest = append(oldest, l)
		case p.torn || p.first > 0:
			p.recorder.surplus(name)
			newest = append(newest, l)
		default:
			p.recorder.surplus(name)
			oldest = append(oldest, l)
		}
	}
	return newest, oldest
}

// single returns a layer of one table that is only known by its number, without what is hidden in
// it.
func (p *plan) single(number uint64, deleted, hidden keyspace.Spans) layer {
	s := p.run([]*manifest.Table{{Number: number}})
	s.hidden = hidden
	return layer{source: s, deleted: deleted}
}

// run returns the source of a run of tables.
func (p *plan) run(tables []*manifest.Table) *tableSource {
	return &tableSource{plan: p, tables: tables, recorder: p.recorder}
}
