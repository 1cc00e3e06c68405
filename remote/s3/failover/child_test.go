package failover

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/s3"
)

// planVariable is the environment variable that makes this binary a child; its value is the plan.
const planVariable = "STOAT_FAILOVER_PLAN"

// Where databases are.
const (
	testBucket = "bucket"
	testKey    = "key"
	testSecret = "a secret"
	testRegion = "us-east-1"
)

// plan says what a child does: it opens the database, at once or when a line of input says so, and
// writes until it is killed, fenced, or its input ends.
type plan struct {
	Address string // of the server
	Prefix  string // of the database
	Dir     string
	Standby bool          // it follows the database first, and takes over at a line of input
	Writers int           // goroutines that commit
	Async   bool          // commits do not wait for the store, which gets nothing for an hour
	Close   time.Duration // how long Close tries to ship what is left; 0: for a while
}

// What a child prints, besides the numbers of commits.
const (
	sayFollows = "follows"
	sayOpened  = "opened"
	sayFenced  = "fenced"
)

func TestMain(m *testing.M) {
	text := os.Getenv(planVariable)
	if text == "" {
		os.Exit(testMain(m))
	}
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run(context.Background(), os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "the child stops:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// programs is the folder of the programs that tests build.
var programs string

// testMain runs the tests.
func testMain(m *testing.M) int {
	var err error
	if programs, err = os.MkdirTemp("", "stoat-failover-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(programs) }()
	return m.Run()
}

// store opens the store of the database.
func (p plan) store() (*s3.Store, error) {
	return s3.Open(s3.Options{
		Endpoint: p.Address, Insecure: true, Region: testRegion, Bucket: testBucket, Prefix: p.Prefix,
		Credentials: credentials.NewStaticV4(testKey, testSecret, ""),
	})
}

func (p plan) options() *remote.Options {
	o := &remote.Options{Durability: remote.Wait, CloseTimeout: p.Close}
	if p.Async {
		o.Durability, o.Interval = remote.Async, time.Hour
	}
	return o
}

// run is the life of a child.
func (p plan) run(ctx context.Context, in io.Reader, out io.Writer) error {
	db, err := p.open(ctx, in, out)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, sayOpened)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in) // it ends when the parent says so
		cancel()
	}()
	if err := p.load(ctx, db, out); err != nil {
		return errors.Join(err, db.Close())
	}
	if ctx.Err() != nil {
		return db.Close()
	}
	_ = db.Close() // it is fenced, and cannot ship what is left
	return nil
}

// load writes until the context ends, which is no error, or the child is fenced, which it prints.
func (p plan) load(ctx context.Context, db *remote.DB, out io.Writer) error {
	var busy sync.WaitGroup
	ends := make([]error, p.Writers)
	err := report(db.DB, p.Writers, out, func() {
		for w := range p.Writers {
			busy.Go(func() { ends[w] = write(ctx, db.DB, w, out) })
		}
	})
	busy.Wait()
	if ctx.Err() != nil {
		return err
	}
	for _, end := range append(ends, db.Confirm(ctx)) {
		if !errors.Is(end, remote.ErrFenced) {
			err = errors.Join(err, fmt.Errorf("not fenced: %w", end))
		}
	}
	if err == nil {
		fmt.Fprintln(out, sayFenced, strings.ReplaceAll(ends[0].Error(), "\n", " "))
	}
	return err
}

// open opens the database, or takes it over.
func (p plan) open(ctx context.Context, in io.Reader, out io.Writer) (*remote.DB, error) {
	store, err := p.store()
	if err != nil {
		return nil, err
	}
	if !p.Standby {
		return remote.Open(ctx, store, p.Dir, p.options())
	}
	r, err := remote.OpenReader(ctx, store, "", nil)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(out, sayFollows)
	var line [1]byte
	if _, err := in.Read(line[:]); err != nil {
		return nil, r.Close() // it is not needed
	}
	return r.TakeOver(ctx, p.Dir, p.options())
}

// Each writer has a counter and a key for each of its commits.
func counterOf(writer int) []byte { return fmt.Appendf(nil, "counter/%d", writer) }

func keysOf(writer int) []byte { return fmt.Appendf(nil, "key/%d/", writer) }

// write commits again and again, and prints the writer and its counter after each commit.
func write(ctx context.Context, db *stoat.DB, writer int, out io.Writer) error {
	for {
		var n uint64
		err := db.UpdateContext(ctx, func(tx *stoat.Tx) (err error) {
			if n, err = newest(tx, writer); err != nil {
				return err
			}
			n++
			value := make([]byte, 8+n*131%3000)
			binary.BigEndian.PutUint64(value, n)
			if err := tx.Put(fmt.Appendf(keysOf(writer), "%08d", n), value); err != nil {
				return err
			}
			return tx.Put(counterOf(writer), value[:8])
		})
		if err != nil {
			return err
		}
		fmt.Fprintln(out, "acked", writer, n)
	}
}

// newest returns the counter of a writer.
func newest(tx *stoat.Tx, writer int) (uint64, error) {
	value, err := tx.Get(counterOf(writer))
	if errors.Is(err, stoat.ErrNotFound) {
		return 0, nil
	}
	if err == nil && len(value) != 8 {
		err = fmt.Errorf("counter %d has %d bytes", writer, len(value))
	}
	if err != nil {
		return 0, err
	}
	return binary.BigEndian.Uint64(value), nil
}

// report prints the counters as they are in one state, after it has found all keys. It calls begin
// once it has the state.
func report(db *stoat.DB, writers int, out io.Writer, begin func()) error {
	return db.View(func(tx *stoat.Tx) error {
		begin()
		for w := range writers {
			n, err := count(tx, w)
			if err != nil {
				return err
			}
			fmt.Fprintln(out, "has", w, n)
		}
		return nil
	})
}

// count returns the counter of a writer, if the keys of all its commits are there and no others.
func count(tx *stoat.Tx, writer int) (uint64, error) {
	n, err := newest(tx, writer)
	if err != nil {
		return 0, err
	}
	found := uint64(0)
	for key, value := range tx.Scan(stoat.Prefix(keysOf(writer))) {
		found++
		want := fmt.Sprintf("%s%08d", keysOf(writer), found)
		if string(key) != want || len(value) < 8 || binary.BigEndian.Uint64(value) != found {
			return 0, fmt.Errorf("instead of %s, there is %s", want, key)
		}
	}
	if err := tx.Err(); err != nil {
		return 0, err
	}
	if found != n {
		return 0, fmt.Errorf("writer %d has committed %d times, and %d keys are there", writer, n, found)
	}
	return n, nil
}
