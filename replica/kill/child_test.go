package kill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// planVariable is the environment variable with the plan of a child.
const planVariable = "STOAT_REPLICA_KILL_PLAN"

// plan is what a child does.
type plan struct {
	Dir  string
	Key  []byte // of its device
	Addr string // of the server; empty: the child is the server
	Peer string // the device of the server
	Next int    // the number of the first record that it writes
}

// counter is a record of the tests: each transaction stores one of its own, and adds to the total.
type counter struct {
	Name  string `stoat:"name,key"`
	Count int64  `stoat:"count,merge=sum"`
}

// spaceName is the name of the space in all databases, and totalName of the record that all change.
const (
	spaceName = "team"
	totalName = "total"
)

func TestMain(m *testing.M) {
	text := os.Getenv(planVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var p plan
	err := json.Unmarshal([]byte(text), &p)
	if err == nil {
		err = p.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// replicaIn is an open replica.
type replicaIn struct {
	db       *stoat.DB
	device   *replica.Device
	space    *replica.Space
	counters *record.Collection[counter]
}

// open opens the replica in a directory.
func open(dir string, key []byte) (r *replicaIn, err error) {
	r = &replicaIn{}
	if r.device, err = replica.LoadDevice(key); err != nil {
		return nil, err
	}
	if r.db, err = stoat.Open(dir, nil); err != nil {
		return nil, err
	}
	r.space, err = replica.Open(r.db, spaceName, &replica.Options{Device: r.device})
	if err == nil {
		r.counters, err = replica.Collection[counter](r.space, "counters", nil)
	}
	if err != nil {
		return nil, errors.Join(err, r.db.Close())
	}
	return r, nil
}

// run is the life of a child. If standard input ends, it closes the database under its writer and
// its sessions, and ends.
func (p *plan) run() error {
	r, err := open(p.Dir, p.Key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan struct{}, 2)
	if p.Addr == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		fmt.Println("listens", l.Addr())
		go func() {
			_ = replica.Serve(ctx, l, []*replica.Space{r.space}, nil) // ends with the database
			ended <- struct{}{}
		}()
	} else {
		go func() {
			p.syncAgainAndAgain(ctx, r)
			ended <- struct{}{}
		}()
	}
	go func() {
		r.write(p.Next)
		ended <- struct{}{}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the parent says so
	err = r.db.Close()
	cancel()
	<-ended
	<-ended
	return err
}

// syncAgainAndAgain connects until the context ends.
func (p *plan) syncAgainAndAgain(ctx context.Context, r *replicaIn) {
	peer, err := replica.ParseDeviceID(p.Peer)
	for err == nil && ctx.Err() == nil {
		conn, err := replica.Dial(ctx, p.Addr, r.device, peer)
		if err != nil {
			continue // the server was killed
		}
		_ = replica.Sync(ctx, r.space, conn, nil) // ends with the connection or the database
	}
}

// write stores numbered records, and says which are committed, until the database is closed.
func (r *replicaIn) write(next int) {
	for n := next; r.store(n) == nil; n++ {
		fmt.Println("wrote", n)
	}
}

// store stores a record, and adds to the total.
func (r *replicaIn) store(n int) error {
	return r.db.Update(func(tx *stoat.Tx) error {
		own := &counter{Name: fmt.Sprintf("%s/%d", r.device.ID(), n), Count: 1}
		if err := r.counters.Put(tx, own); err != nil {
			return err
		}
		total, err := r.counters.Get(tx, totalName)
		if err != nil {
			total = &counter{Name: totalName}
		}
		total.Count++
		return r.counters.Put(tx, total)
	})
}
