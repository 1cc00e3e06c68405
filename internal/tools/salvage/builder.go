package salvage

import (
	"bytes"
	"context"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// builder writes the merged layers to the new database.
type builder struct {
	ctx      context.Context
	out      *output
	catalog  *catalog
	values   *values
	recorder *recorder
}

// build reads everything. It reads the catalog first and writes it last, once it is known which
// buckets have to be made up for data without one.
func (b *builder) build(m *merger) error {
	for n := 0; ; n++ {
		if n%askEvery == 0 && b.ctx.Err() != nil {
			return b.ctx.Err()
		}
		f, ok := m.next()
		if !ok {
			break
		}
		if l := &m.layers[f.layer]; l.surplus != "" {
			b.recorder.surplus(l.surplus)
			l.surplus = "" // once is enough
		}
		var err error
		if keyspace.IsData(f.key) {
			b.catalog.close()
			err = b.data(f)
		} else {
			b.entry(f)
		}
		if err != nil {
			return err
		}
	}
	b.catalog.close()
	if b.recorder.lost() {
		b.catalog.salvage = b.out.job.Branch
	}
	for _, p := range b.catalog.pairs() {
		if err := b.out.head.Add(p.key, p.entry); err != nil {
			return err
		}
	}
	return nil
}

func (b *builder) entry(f found) {
	if f.entry.Kind == keyspace.KindDelete {
		return
	}
	var ok bool
	if f, ok = b.resolve(f); !ok {
		return
	}
	if problem := b.catalog.add(f.key, f.entry); problem != "" {
		b.recorder.value(f.key, problem)
	}
}

func (b *builder) data(f found) error {
	id, ok := keyspace.BucketOf(f.key)
	prefix := keyspace.AppendPrefix(nil, id)
	if !ok || !bytes.HasPrefix(f.key, prefix) || len(f.key) == len(prefix) {
		b.recorder.value(f.key, "it is no key of a bucket")
		return nil
	}
	if b.catalog.gone(id) || f.entry.Kind == keyspace.KindDelete {
		return nil
	}
	if f, ok = b.resolve(f); !ok {
		return nil
	}
	b.catalog.want(id)
	b.recorder.made.Entries++
	b.recorder.made.Bytes += uint64(len(f.key) - len(prefix) + len(f.entry.Value))
	return b.out.data.Add(f.key, f.entry)
}

// resolve returns the entry with its value in it. If the value is lost, so is the key.
func (b *builder) resolve(f found) (whole found, ok bool) {
	problem := f.problem
	var value []byte
	if problem == "" {
		value, problem = b.values.of(f.entry)
	}
	if problem != "" {
		b.recorder.value(f.key, problem)
		return f, false
	}
	f.entry = keyspace.Entry{Kind: keyspace.KindPut, Value: value, Until: f.entry.Until}
	return f, true
}
