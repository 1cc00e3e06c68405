package main

import "github.com/stoatdb/stoat"

// A transaction is committed when it has one of these.
const (
	batchEntriesMax = 10_000
	batchBytesMax   = 8 << 20
)

// batch spreads many writes over transactions of bounded size. It is not safe for concurrent use,
// and must be ended by commit or rollback.
type batch struct {
	db      *stoat.DB
	tx      *stoat.Tx // nil if none is open
	entries int       // in tx
	bytes   int       // in tx
	commits int
}

// begin returns the transaction for the next write.
func (b *batch) begin() (*stoat.Tx, error) {
	if b.tx != nil {
		return b.tx, nil
	}
	var err error
	b.tx, err = b.db.Begin(true)
	return b.tx, err
}

// wrote counts an entry that was written; committed reports whether it and all before are durable.
func (b *batch) wrote(entryBytes int) (committed bool, err error) {
	b.entries++
	b.bytes += entryBytes
	if b.entries < batchEntriesMax && b.bytes < batchBytesMax {
		return false, nil
	}
	return true, b.commit()
}

// commit makes all that was written durable.
func (b *batch) commit() error {
	if b.tx == nil {
		return nil
	}
	err := b.tx.Commit()
	b.tx, b.entries, b.bytes = nil, 0, 0
	if err == nil {
		b.commits++
	}
	return err
}

// rollback discards what was written since the last commit.
func (b *batch) rollback() {
	if b.tx != nil {
		_ = b.tx.Rollback() // it always returns nil
		b.tx = nil
	}
}
