package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat/bench/settle"
)

// database is what a program of ours has open. put and get are safe for concurrent use.
type database interface {
	put(key, value []byte) error
	get(key []byte) ([]byte, error)
	// load stores records in one transaction.
	load(from, to uint64) error
	// scan reads all keys and values.
	scan() (records uint64, bytes int, err error)
	// ship returns when the store has everything.
	ship(ctx context.Context) error
	// takeOver makes a reader the writer, which waits for the store, with an empty folder.
	takeOver(ctx context.Context, dir string) error
	close() error
}

// client is a program of ours. It knows its system by how to open and restore a database.
type client struct {
	open    func(ctx context.Context, r *request) (database, error)
	restore func(ctx context.Context, r *request) (peak float64, err error)
	db      database // nil if none is open
	cpu     float64  // what the process had taken when it was
}

// Program is the main function of a program with a database of a system of ours, or of SQLite.
func Program(name string, in io.Reader, out io.Writer) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	if s.client == nil {
		return fmt.Errorf("%s is another program", name)
	}
	return answerAll(in, out, s.client().do)
}

// ProgramArgument is the argument that makes the benchmark a program with a database. The other
// argument is the name of a system.
const ProgramArgument = "shipping"

func (c *client) do(r *request) (a answer, err error) {
	ctx := context.Background()
	start := time.Now()
	switch r.Do {
	case doOpen:
		if c.db, err = c.open(ctx, r); err == nil {
			c.cpu, err = processorTime()
		}
	case doRestore:
		a.Peak, err = c.restore(ctx, r)
	default:
		if c.db == nil {
			return a, errors.New("no database is open")
		}
		a, err = c.use(ctx, r)
	}
	a.Nanoseconds = float64(time.Since(start))
	return a, err
}

// use does what needs an open database.
func (c *client) use(ctx context.Context, r *request) (a answer, err error) {
	switch r.Do {
	case doCommit:
		return commit(c.db, r)
	case doLoad:
		for from := r.From; from < r.To && err == nil; from += transaction {
			err = c.db.load(from, min(from+transaction, r.To))
		}
		return a, err
	case doSettle:
		return a, settled(time.Duration(r.Milliseconds) * time.Millisecond)
	case doShip:
		return a, c.db.ship(ctx)
	case doTakeOver:
		return a, c.db.takeOver(ctx, r.Dir)
	case doGet:
		return get(c.db, r.IDs)
	case doScan:
		records, bytes, err := c.db.scan()
		return answer{Records: records, Bytes: float64(bytes)}, err
	case doClose:
		err := c.db.close()
		c.db = nil
		cpu, failed := processorTime()
		return answer{CPU: cpu - c.cpu}, errors.Join(err, failed)
	}
	return a, errUnsupported
}

// transaction is how many records doLoad stores in one.
const transaction = 1_000

// commit commits records, each in a transaction of its own, at least one of each writer.
func commit(db database, r *request) (answer, error) {
	var next atomic.Uint64
	next.Store(r.From)
	end := time.Now().Add(time.Duration(r.Milliseconds) * time.Millisecond)
	pause := time.Duration(r.Microseconds) * time.Microsecond
	answers, errs := make([]answer, r.Writers), make([]error, r.Writers)
	var writers sync.WaitGroup
	for i := range r.Writers {
		writers.Go(func() {
			a := &answers[i]
			for more := true; more && errs[i] == nil; more = time.Now().Before(end) {
				id := next.Add(1) - 1
				key, value := keyOf(id), valueOf(id)
				begun := time.Now()
				errs[i] = db.put(key, value)
				a.Samples = append(a.Samples, float64(time.Since(begun)))
				a.At = append(a.At, microseconds(time.Now()))
				if pause > 0 {
					time.Sleep(pause - time.Since(begun))
				}
			}
		})
	}
	writers.Wait()
	all := answer{Records: next.Load() - r.From}
	for _, a := range answers {
		all.Samples, all.At = append(all.Samples, a.Samples...), append(all.At, a.At...)
	}
	return all, errors.Join(errs...)
}

// get gets records one after the other.
func get(db database, ids []uint64) (a answer, err error) {
	for _, id := range ids {
		begun := time.Now()
		value, err := db.get(keyOf(id))
		if err != nil {
			return a, fmt.Errorf("record %d: %w", id, err)
		}
		a.Samples = append(a.Samples, float64(time.Since(begun)))
		if !slices.Equal(value, valueOf(id)) {
			return a, fmt.Errorf("record %d is not the one written", id)
		}
	}
	return a, nil
}

// settled returns when the process has been idle for a while, or after a minute.
func settled(quiet time.Duration) error {
	_, _, err := settle.New(quiet, time.Minute).Wait()
	return err
}
