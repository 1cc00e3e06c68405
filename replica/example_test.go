package replica_test

import (
	"context"
	"fmt"
	"log"
	"net"

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
	d := &device{db: db}
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

// exchange brings two devices together.
func exchange(a, b *device) {
	x, y := net.Pipe()
	done := make(chan error, 1)
	once := &replica.SyncOptions{Once: true}
	go func() { done <- replica.Sync(context.Background(), b.space, y, once) }()
	if err := replica.Sync(context.Background(), a.space, x, once); err != nil {
		log.Fatal(err)
	}
	if err := <-done; err != nil {
		log.Fatal(err)
	}
}

func Example() {
	ann := start(nil)
	ben := start(ann)
	defer ann.db.Close()
	defer ben.db.Close()
	ann.add("milk", 1)
	err := ann.db.Update(func(tx *stoat.Tx) error {
		return ann.space.Grant(tx, replica.Anyone, replica.Write)
	})
	if err != nil {
		log.Fatal(err)
	}
	exchange(ann, ben)

	ann.add("milk", 2) // both are offline
	ben.add("milk", 3)
	ben.add("bread", 1)
	exchange(ann, ben)

	err = ann.db.View(func(tx *stoat.Tx) error {
		for e, err := range ann.list.All(tx) {
			if err != nil {
				return err
			}
			fmt.Println(e.Name, e.Amount)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// bread 1
	// milk 6
}
