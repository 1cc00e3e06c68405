package salvage

import (
	"bytes"
	"context"

	"github.com/stoatdb/stoat/internal/keyspace"
)

// builder puts what the layers say into the new database.
type builder struct {
	ctx      context.Context
	out      *output
	catalog  *catalog
	values   *values
	recorder *recorder
}

// build reads everything. The catalog comes first; it is written last, when it is known which
// buckets have to be made up for data that belongs to none.
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
	return b.out.catalog(b.catalog.pairs())
}

// entry takes an entry of the catalog.
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

// data writes an entry of user data.
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
	return b.out.data.add(f.key, f.entry)
}

// resolve makes the entry one with its value in it. If that is lost, so is the key.
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
