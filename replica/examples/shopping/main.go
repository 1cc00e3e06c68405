// Command shopping shows a shopping list on three devices that share it through package replica:
// two phones and a server. The phones go offline, change the same line, come together, and find a
// conflict. The server loses its disk and is refilled by a phone. In the end, all three have the
// same state, down to its root.
//
// It runs in one process and in memory; the devices talk to each other over TLS on loopback, as
// they would over any network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// Line is a line of the shopping list. The tags say how concurrent changes of two
// devices merge.
type Line struct {
	Name   string   `stoat:"name,key"`
	Amount int64    `stoat:"amount,merge=sum"` // both changes count
	Note   string   `stoat:"note,merge=keep"`  // both are kept until somebody decides
	Tags   []string `stoat:"tags,merge=set"`   // adding beats removing
	Bought bool     `stoat:"bought"`           // the last change wins
}

// device is one of the three: its key, its database, and the list in it.
type device struct {
	name  string
	key   *replica.Device
	db    *stoat.DB
	space *replica.Space
	list  *record.Collection[Line]
}

// clock is a time of day that moves on by a second whenever somebody looks, so that the story is
// always the same. It is safe for concurrent use.
type clock struct{ seconds atomic.Int64 }

func (c *clock) now() time.Time {
	return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).
		Add(time.Duration(c.seconds.Add(1)) * time.Second)
}

// newDevice makes a device with an empty database, which joins the space; or founds it, if id is
// zero.
func newDevice(name string, key *replica.Device, c *clock, id replica.SpaceID) (*device, error) {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		return nil, err
	}
	d := &device{name: name, key: key, db: db}
	opts := &replica.Options{Device: key, Now: c.now}
	if id == (replica.SpaceID{}) {
		d.space, err = replica.Create(db, "home", opts)
	} else {
		d.space, err = replica.Join(db, "home", id, opts)
	}
	if err == nil {
		d.list, err = replica.Collection[Line](d.space, "list", nil)
	}
	return d, err
}

// change changes a line, and makes it if it is not there.
func (d *device) change(name string, fn func(*Line)) error {
	return d.db.Update(func(tx *stoat.Tx) error {
		line, err := d.list.Get(tx, name)
		if errors.Is(err, stoat.ErrNotFound) {
			line, err = &Line{Name: name}, nil
		}
		if err != nil {
			return err
		}
		fn(line)
		return d.list.Put(tx, line)
	})
}

// print prints the list.
func (d *device) print(out io.Writer) error {
	return d.db.View(func(tx *stoat.Tx) error {
		for line, err := range d.list.All(tx) {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "  %s: %d× %s", d.name, line.Amount, line.Name)
			if line.Note != "" {
				fmt.Fprintf(out, " (%s)", line.Note)
			}
			fmt.Fprintln(out)
		}
		return nil
	})
}

// root returns the root of the state: equal roots mean equal states.
func (d *device) root() (root [32]byte, err error) {
	err = d.db.View(func(tx *stoat.Tx) (err error) {
		root, err = d.space.Root(tx)
		return err
	})
	return root, err
}

// host is a device that others can reach.
type host struct {
	*device
	addr string
	stop context.CancelFunc
	done chan error
}

// listen makes a device reachable.
func (d *device) listen(ctx context.Context) (*host, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	h := &host{device: d, addr: l.Addr().String(), stop: stop, done: make(chan error, 1)}
	go func() { h.done <- replica.Serve(ctx, l, []*replica.Space{d.space}, nil) }()
	return h, nil
}

// close ends the sessions of a host, and closes its database.
func (h *host) close() error {
	h.stop()
	<-h.done // that it was stopped is no news
	return h.db.Close()
}

// visit syncs with a host once: afterwards, both have what the other had.
func (d *device) visit(ctx context.Context, h *host) error {
	conn, err := replica.Dial(ctx, h.addr, d.key, h.key.ID())
	if err != nil {
		return err
	}
	return replica.Sync(ctx, d.space, conn, &replica.SyncOptions{Once: true})
}
