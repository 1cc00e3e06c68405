package soak

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
)

const (
	accounts = 500
	opening  = 1000 // of each account at the beginning
	tellers  = 4    // goroutines that transfer
	auditors = 2    // goroutines that add up the accounts
)

// bank is a database whose accounts always have the same sum.
type bank struct {
	db        *stoat.DB
	pad       int // bytes of a value after the balance
	transfers atomic.Int64
	audits    atomic.Int64
}

func account(n int) []byte { return fmt.Appendf(nil, "account %06d", n) }

// value returns the stored form of a balance.
func (b *bank) value(balance int64) []byte {
	v := binary.LittleEndian.AppendUint64(nil, uint64(balance))
	for len(v) < 8+b.pad {
		v = binary.LittleEndian.AppendUint64(v, uint64(balance)*0x9E3779B97F4A7C15)
	}
	return v
}

// balance reads a stored balance, and checks what follows it.
func (b *bank) balance(key, v []byte) (int64, error) {
	if len(v) >= 8 {
		balance := int64(binary.LittleEndian.Uint64(v))
		if string(v) == string(b.value(balance)) {
			return balance, nil
		}
	}
	return 0, fmt.Errorf("%s holds %x", key, v)
}

// open opens the accounts.
func (b *bank) open() error {
	return b.db.Update(func(tx *stoat.Tx) error {
		for n := range accounts {
			if err := tx.Put(account(n), b.value(opening)); err != nil {
				return err
			}
		}
		return nil
	})
}

// run does business until ctx is done or something is wrong.
func (b *bank) run(ctx context.Context, seed uint64) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var busy sync.WaitGroup
	work := func(n uint64, fn func(rng *rand.Rand) error) {
		rng := rand.New(rand.NewPCG(seed, n))
		busy.Go(func() {
			for ctx.Err() == nil {
				if err := fn(rng); err != nil && ctx.Err() == nil {
					cancel(err)
				}
			}
		})
	}
	for n := range tellers {
		work(uint64(n), b.transfer)
	}
	for n := range auditors {
		work(tellers+uint64(n), func(rng *rand.Rand) error { return b.audit(ctx, rng) })
	}
	work(100, func(rng *rand.Rand) error { return b.maintain(ctx, rng) })
	busy.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

var errCovered = errors.New("the account is not covered")

// transfer moves money from one account to another.
func (b *bank) transfer(rng *rand.Rand) error {
	from, to, amount := rng.IntN(accounts), rng.IntN(accounts), 1+rng.Int64N(100)
	err := b.db.Update(func(tx *stoat.Tx) error {
		for _, p := range []struct {
			n    int
			plus int64
		}{{from, -amount}, {to, amount}} {
			key := account(p.n)
			v, err := tx.Get(key)
			if err != nil {
				return err
			}
			balance, err := b.balance(key, v)
			if err != nil {
				return err
			}
			if balance+p.plus < 0 {
				return errCovered
			}
			if err := tx.Put(key, b.value(balance+p.plus)); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(err, errCovered) {
		return nil
	}
	b.transfers.Add(1)
	return err
}

// audit adds up all accounts of a snapshot, and now and then again after a while.
func (b *bank) audit(ctx context.Context, rng *rand.Rand) error {
	tx, err := b.db.Begin(false)
	if err != nil {
		return err
	}
	err = b.sum(tx, rng.IntN(2) == 0)
	if err == nil && rng.IntN(16) == 0 {
		pause(ctx, time.Duration(rng.IntN(300))*time.Millisecond)
		err = b.sum(tx, false)
	}
	b.audits.Add(1)
	return errors.Join(err, tx.Rollback())
}

// sum checks the accounts that a transaction sees.
func (b *bank) sum(tx *stoat.Tx, reverse bool) error {
	count, total := 0, int64(0)
	r := stoat.Prefix([]byte("account "))
	r.Reverse = reverse
	for k, v := range tx.Scan(r) {
		balance, err := b.balance(k, v)
		if err != nil {
			return err
		}
		count++
		total += balance
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if count != accounts || total != accounts*opening {
		return fmt.Errorf("%d accounts hold %d, want %d and %d", count, total, accounts,
			accounts*opening)
	}
	return nil
}

// maintain does the rare operations: it flushes, compacts, and fills and drops a bucket.
func (b *bank) maintain(ctx context.Context, rng *rand.Rand) error {
	pause(ctx, time.Duration(rng.IntN(20))*time.Millisecond)
	switch rng.IntN(6) {
	case 0:
		return b.db.Compact(ctx)
	case 1:
		return b.db.Flush()
	}
	name := []byte("statements")
	return b.db.Update(func(tx *stoat.Tx) error {
		err := tx.DeleteBucket(name)
		if !errors.Is(err, stoat.ErrBucketNotFound) {
			return err
		}
		statements, err := tx.CreateBucket(name)
		for n := 0; err == nil && n < 200; n++ {
			err = statements.Put(account(n), b.value(rng.Int64()))
		}
		return err
	})
}

// pause returns after d, or when ctx is done.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
