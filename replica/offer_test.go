package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// What is offered is kept, so nothing of it may lie in a table that a compaction removes.
func TestOffer_outlivesTheTablesOfItsTransaction(t *testing.T) {
	p, c := onDisk(t, nil, stoat.SyncNever)
	random := rand.NewChaCha8([32]byte{1})
	write := func(i int64) {
		it, text := newItem(i), make([]byte, 3000)
		_, _ = random.Read(text)
		it.Text = string(text) // nothing to compress, so tables are read where they are mapped
		p.update(func(tx *stoat.Tx) error { return c.Put(tx, it) })
	}
	for i := range int64(400) {
		write(i)
	}
	must(t, p.checkpoint())
	must(t, p.space.Seal())
	must(t, p.db.Compact(context.Background()))
	to := p.reader()
	source := endpoint{p.space}
	o, reason, err := source.Offer(to)
	must(t, errors.Join(reason, err))
	for i := range 3 {
		write(int64(i))
		must(t, p.db.Compact(context.Background()))
	}
	for i, tree := range o.Trees {
		for n := range tree {
			_, err := source.Chunk(to, o.Checkpoint, session.ChunkID{Tree: i, N: n})
			must(t, err)
		}
	}
}
