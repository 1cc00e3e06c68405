package replica_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http/httptest"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// Entry is a line of a shopping list.
type Entry struct {
	Name   string `stoat:"name,key"`
	Amount int64  `stoat:"amount,merge=sum"`
	Bought bool   `stoat:"bought"`
}

// device is a phone with a database of its own.
type device struct {
	id    replica.DeviceID
	db    *stoat.DB
	space *replica.Space
	list  *record.Collection[Entry]
}

// start makes a device that founds a space, or joins the one of another.
func start(other *device) *device {
	db, err := stoat.OpenMemory(nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := replica.NewDevice()
	if err != nil {
		log.Fatal(err)
	}
	d := &device{id: key.ID(), db: db}
	if other == nil {
		d.space, err = replica.Create(db, "home", &replica.Options{Device: key})
	} else {
		d.space, err = replica.Join(db, "home", other.space.ID(), &replica.Options{Device: key})
	}
	if err != nil {
		log.Fatal(err)
	}
	if d.list, err = replica.Collection[Entry](d.space, "list", nil); err != nil {
		log.Fatal(err)
	}
	return d
}

// startTwo makes a device that founds a space, and another one that joins it.
func startTwo() (a, b *device, end func()) {
	a = start(nil)
	b = start(a)
	return a, b, func() {
		if err := errors.Join(a.db.Close(), b.db.Close()); err != nil {
			log.Fatal(err)
		}
	}
}

// add changes the amount of an entry.
func (d *device) add(name string, amount int64) {
	err := d.db.Update(func(tx *stoat.Tx) error {
		e, err := d.list.Get(tx, name)
		if err != nil {
			e = &Entry{Name: name}
		}
		e.Amount += amount
		return d.list.Put(tx, e)
	})
	if err != nil {
		log.Fatal(err)
	}
}

// update runs fn in a transaction of the device's database.
func (d *device) update(fn func(tx *stoat.Tx) error) {
	if err := d.db.Update(fn); err != nil {
		log.Fatal(err)
	}
}

// allow lets everybody write to the space of the device.
func (d *device) allow() {
	d.update(func(tx *stoat.Tx) error {
		return d.space.Grant(tx, replica.Anyone, replica.Write)
	})
}

// show prints the shopping list.
func (d *device) show() {
	d.update(func(tx *stoat.Tx) error {
		for e, err := range d.list.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Name, e.Amount)
		}
		return nil
	})
}

// exchange brings two devices together.
func exchange(a, b *device) {
	x, y := net.Pipe()
	done := make(chan error, 1)
	once := &replica.SyncOptions{Once: true}
	go func() { done <- replica.Sync(context.Background(), b.space, y, once) }()
	err := errors.Join(replica.Sync(context.Background(), a.space, x, once), <-done)
	if err != nil && !errors.Is(err, replica.ErrNotAllowed) { // one of them may not read
		log.Fatal(err)
	}
}

func Example() {
	ann, ben, end := startTwo()
	defer end()
	ann.add("milk", 1)
	ann.allow()
	exchange(ann, ben)

	ann.add("milk", 2) // both are offline
	ben.add("milk", 3)
	ben.add("bread", 1)
	exchange(ann, ben)
	ann.show()
	// Output:
	// bread 1
	// milk 6
}

// Two replicas meet over a connection; here, it is a pipe in memory.
func ExampleSync() {
	ann, ben, end := startTwo()
	defer end()
	ann.add("milk", 1)
	ann.allow()

	x, y := net.Pipe()
	ctx := context.Background()
	once := &replica.SyncOptions{Once: true} // otherwise the session stays
	done := make(chan error, 1)
	go func() { done <- replica.Sync(ctx, ben.space, y, once) }()
	fmt.Println(replica.Sync(ctx, ann.space, x, once), <-done)
	ben.show()
	// Output:
	// <nil> <nil>
	// milk 1
}

// A replica travels as a file.
func ExampleExport() {
	ann, ben, end := startTwo()
	defer end()
	ann.add("milk", 1)

	var file bytes.Buffer
	if err := replica.Export(context.Background(), ann.space, &file); err != nil {
		log.Fatal(err)
	}
	if err := replica.Import(context.Background(), ben.space, &file); err != nil {
		log.Fatal(err)
	}
	ben.show()
	// Output:
	// milk 1
}

// A server has the spaces that it passes on, and clients connect by HTTP.
func ExampleHandler() {
	server, ann, end := startTwo()
	defer end()
	server.allow()
	server.add("milk", 1)

	handler := replica.Handler([]*replica.Space{server.space}, nil)
	web := httptest.NewServer(handler) // a program calls http.ListenAndServeTLS
	defer web.Close()
	if err := replica.Post(context.Background(), ann.space, web.URL, nil); err != nil {
		log.Fatal(err)
	}
	ann.show()
	// Output:
	// milk 1
}
