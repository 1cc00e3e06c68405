package docs

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/bench/suite"
)

// run is a job in progress: all sizes of one kind.
type run struct {
	job    suite.Job
	plan   plan
	engine engine.Engine
	kind   kind
	out    suite.Record

	databases []*database
	sweeper   sweeper
}

// database is the database for documents of one size, and the documents.
type database struct {
	state     string // of the rows
	dir       string
	documents [][]byte    // by number, which is the key
	longest   int         // length of the longest, in bytes
	walk      engine.Walk // the result of a scan that looks at one byte of each
	store     engine.Store
}

// newDatabase returns the closed, empty database for documents of one size.
func newDatabase(state, dir string, documents [][]byte) *database {
	s := &database{state: state, dir: dir, documents: documents}
	for _, d := range documents {
		s.longest = max(s.longest, len(d))
		s.walk.Entries++
		s.walk.Bytes += len(d)
		s.walk.Sum += engine.Touch(d)
	}
	return s
}

// all does the job. Databases are closed between the parts, so that no part depends on whether
// another one is wanted. All sizes settle at once, because that takes seconds of idling.
func (r *run) all() error {
	if err := r.generate(); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		do   func(s *database) error
		rows []string
	}{
		{"load", r.load, nil},
		{"reopen", r.open, settledRows()},
		{"settle", r.settled(), settledRows()},
		{"read cold", r.cold, []string{"get_cold", "scan_cold"}},
		{"read warm", r.warm,
			[]string{"get_first", "get_warm", "get_swept", "scan_warm", "scan_keys"}},
	} {
		if part.rows != nil && !r.job.Wants(part.rows...) {
			continue
		}
		for _, s := range r.databases {
			if err := part.do(s); err != nil {
				return fmt.Errorf("%s, %s: %w", s.state, part.name, err)
			}
		}
	}
	return nil
}

// settledRows are the rows that need the background work to have ended.
func settledRows() []string {
	return []string{"get_settled", "scan_settled", "settled_size", "settled_size_allocated"}
}

// generate makes the documents.
func (r *run) generate() (err error) {
	if r.sweeper, err = newSweeper(r.plan.sweep); err != nil {
		return err
	}
	w := newWriter(r.random("documents"))
	for i, s := range sizes() {
		documents, err := w.documents(r.kind, s.bytes, max(fewest, r.plan.bytes/s.bytes))
		if err != nil {
			return err
		}
		dir := filepath.Join(r.job.Dir, fmt.Sprint(i))
		r.databases = append(r.databases, newDatabase(stateOf(r.kind, s), dir, documents))
	}
	return nil
}

// load fills a new database, reads from it, and closes it.
func (r *run) load(s *database) error {
	if err := r.open(s); err != nil {
		return err
	}
	var elapsed time.Duration
	for first := 0; first < len(s.documents); {
		batch := r.batch(s, first)
		start := time.Now()
		if err := s.store.Write(batch); err != nil {
			return fmt.Errorf("write after %d documents: %w", first, err)
		}
		elapsed += time.Since(start)
		first += len(batch)
	}
	r.record(s, "load", float64(elapsed)/float64(len(s.documents)))
	if err := r.reads(s, "get_loaded", "scan_loaded"); err != nil {
		return err
	}
	start := time.Now()
	if err := s.store.Close(); err != nil {
		return err
	}
	r.record(s, "close", since(start)/float64(len(s.documents)))
	return r.weigh(s, "size", "size_allocated")
}

// batch returns the pairs of the next transaction.
func (r *run) batch(s *database, first int) (batch []engine.Pair) {
	for left := batchBytes; left > 0 && len(batch) < batchCount; {
		i := first + len(batch)
		if i == len(s.documents) {
			break
		}
		batch = append(batch, engine.Pair{Key: r.key(i), Value: s.documents[i]})
		left -= len(s.documents[i])
	}
	return batch
}

// settled returns a function that reads from each of the open databases and closes it, after the
// background work of all of them has ended.
func (r *run) settled() func(s *database) error {
	waited := false
	return func(s *database) error {
		if !waited {
			time.Sleep(r.plan.idle)
			if _, _, err := r.plan.settler.Wait(); err != nil {
				return err
			}
			waited = true
		}
		if err := r.reads(s, "get_settled", "scan_settled"); err != nil {
			return err
		}
		if err := s.store.Close(); err != nil {
			return err
		}
		return r.weigh(s, "settled_size", "settled_size_allocated")
	}
}

// weigh measures the size on disk of a closed database.
func (r *run) weigh(s *database, apparent, allocated string) error {
	size, err := machine.SizeOf(s.dir)
	if err != nil {
		return err
	}
	r.record(s, apparent, float64(size.Apparent)/float64(len(s.documents)))
	r.record(s, allocated, float64(size.Allocated)/float64(len(s.documents)))
	return nil
}

func (r *run) open(s *database) (err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	s.store, err = r.engine.Open(s.dir, engine.Options{Sync: r.job.Sync, Order: r.job.Order})
	return err
}

// key returns the key of a document.
func (r *run) key(number int) []byte {
	key := make([]byte, engine.KeyBytes)
	r.job.Order.Put(key, uint64(number))
	return key
}

// record passes on the samples of a row if they are wanted.
func (r *run) record(s *database, row string, values ...float64) {
	if r.job.Wants(row) && len(values) > 0 {
		r.out(suite.At{Row: row, State: s.state}, values...)
	}
}

// random returns the source of the choices for a purpose, which is the same for all engines.
func (r *run) random(purpose string) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s", purpose, r.kind.name)
	return rand.New(rand.NewPCG(r.job.Seed, h.Sum64()))
}

// since returns the nanoseconds since start.
func since(start time.Time) float64 { return float64(time.Since(start)) }
