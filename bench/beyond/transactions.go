package main

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/machine"
)

// transactionLimit is the memory limit for transactions that exceed it.
const transactionLimit = 256 << 20

// transactions commits one transaction of 10,000,000 small puts and one of 4 GiB, and first rolls
// back a quarter of each.
func (b *bench) transactions() error {
	for _, t := range []struct {
		what    string
		n, size int
	}{
		{"puts of 16 bytes", 10_000_000, 16},
		{"puts of 1 KiB", 4 << 20, 1 << 10},
	} {
		err := b.with(&stoat.Options{MemoryLimit: transactionLimit}, func(db *stoat.DB) error {
			return b.transaction(db, t.what, b.n(t.n), t.size)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) transaction(db *stoat.DB, what string, n, size int) error {
	given := errors.New("rolled back")
	before, err := machine.SizeOf(b.dir)
	if err != nil {
		return err
	}
	stop := watchMemory()
	took, err := timed(func() error {
		return db.Update(func(tx *stoat.Tx) error {
			return errors.Join(puts(tx, n/4, randomKeys(), randomValues(size)), given)
		})
	})
	if !errors.Is(err, given) {
		return fmt.Errorf("the transaction to roll back: %w", err)
	}
	after, err := machine.SizeOf(b.dir)
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("%d %s, rolled back", n/4, what), took)
	b.print("additional bytes in files", after.Apparent-before.Apparent)
	took, err = timed(func() error {
		return db.Update(func(tx *stoat.Tx) error {
			return puts(tx, n, randomKeys(), randomValues(size))
		})
	})
	if err != nil {
		return err
	}
	b.print(fmt.Sprintf("%d %s, committed", n, what), took)
	b.print("peak memory of the process itself", fmt.Sprintf("%d MiB", stop()>>20))
	if s := db.Stats(); s.Entries != uint64(n) {
		return fmt.Errorf("%d entries of %d", s.Entries, n)
	}
	return nil
}

// watchMemory watches the process's own memory until stop is called, which returns the peak.
func watchMemory() (stop func() int64) {
	var most atomic.Int64
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			if u, err := machine.Now(); err == nil {
				most.Store(max(most.Load(), u.Anon))
			}
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
			}
		}
	})
	return func() int64 {
		close(done)
		wait.Wait()
		return most.Load()
	}
}
