package replica_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica"
)

// A root grants a right, and ends it.
func ExampleSpace_Grant() {
	ann, ben, end := startTwo()
	defer end()
	exchange(ann, ben)
	addBread := func() error {
		return ben.db.Update(func(tx *stoat.Tx) error {
			return ben.list.Put(tx, &Entry{Name: "bread", Amount: 1})
		})
	}
	fmt.Println(errors.Is(addBread(), replica.ErrNotAllowed))

	ann.update(func(tx *stoat.Tx) error {
		return ann.space.Grant(tx, ben.id, replica.Write, replica.In("list").NoDelete())
	})
	exchange(ann, ben)
	fmt.Println(addBread())

	ann.update(func(tx *stoat.Tx) error { return ann.space.Revoke(tx, ben.id) })
	ann.add("milk", 1)
	exchange(ann, ben)
	ben.show() // it is given nothing more
	// Output:
	// true
	// <nil>
	// bread 1
}

// What a device wrote after its grant was revoked is void, until another device adopts it.
func ExampleSpace_Adopt() {
	ann, ben, end := startTwo()
	defer end()
	ann.allow()
	exchange(ann, ben)
	ben.add("bread", 1) // offline
	ann.update(func(tx *stoat.Tx) error { return ann.space.Revoke(tx, replica.Anyone) })
	exchange(ann, ben)

	ann.update(func(tx *stoat.Tx) error {
		var void []replica.EntryID
		for v, err := range ann.space.Void(tx) {
			if err != nil {
				return err
			}
			fmt.Println("void:", v.Collections)
			void = append(void, v.EntryID)
		}
		for _, id := range void {
			if _, err := ann.space.Adopt(tx, id.Log, id.Seq, id.Seq+1); err != nil {
				return err
			}
		}
		return nil
	})
	ann.show()
	// Output:
	// void: [list]
	// bread 1
}

// History lists what was done to a record.
func ExampleSpace_History() {
	ann := start(nil)
	defer ann.db.Close()
	ann.add("milk", 1)
	ann.add("milk", 2)
	ann.update(func(tx *stoat.Tx) error {
		for r, err := range ann.space.History(tx, "list", "milk") {
			if err != nil {
				return err
			}
			for _, f := range r.Fields {
				fmt.Println(r.Device == ann.id, f.Field, f.Rule, f.Value)
			}
		}
		return nil
	})
	// Output:
	// true amount sum 1
	// true amount sum 2
}

// At shows a space as it was.
func ExampleSpace_At() {
	ann := start(nil)
	defer ann.db.Close()
	ann.add("milk", 1)
	if err := ann.space.Seal(); err != nil { // a vector counts sealed entries
		log.Fatal(err)
	}
	var before replica.Vector
	ann.update(func(tx *stoat.Tx) (err error) {
		before, err = ann.space.Vector(tx)
		return err
	})
	ann.add("milk", 2)
	ann.update(func(tx *stoat.Tx) error {
		snapshot, err := ann.space.At(tx, replica.Moment{Vector: before})
		if err != nil {
			return err
		}
		list, err := replica.At[Entry](snapshot, "list")
		if err != nil {
			return err
		}
		milk, err := list.Get("milk")
		if err != nil {
			return err
		}
		fmt.Println(milk.Amount)
		return nil
	})
	// Output: 1
}

// Revert takes back what a device did, and nothing else.
func ExampleSpace_Revert() {
	ann, ben, end := startTwo()
	defer end()
	ann.allow()
	exchange(ann, ben)
	ann.add("milk", 1)
	ben.add("milk", 100)
	exchange(ann, ben)

	ann.update(func(tx *stoat.Tx) error {
		done, err := ann.space.Revert(tx, replica.Filter{Device: ben.id})
		fmt.Println(done.Records)
		return err
	})
	exchange(ann, ben)
	ben.show()
	// Output:
	// 1
	// milk 1
}

// Status says what a replica waits for, among other things.
func ExampleSpace_Status() {
	ann := start(nil)
	defer ann.db.Close()
	ann.add("milk", 1)
	ann.update(func(tx *stoat.Tx) error {
		status, err := ann.space.Status(tx)
		if err != nil {
			return err
		}
		fmt.Println(status.Name, len(status.Heads), len(status.Waiting), status.Void)
		return nil
	})
	// Output: home 1 0 0
}

// A checkpoint lets replicas remove the entries that it covers.
func ExampleSpace_Checkpoint() {
	ann := start(nil)
	defer ann.db.Close()
	for range 3 {
		ann.add("milk", 1)
	}
	ann.update(ann.space.Checkpoint)
	// The checkpoint counts once all devices that may make one have written after it.
	ann.add("bread", 1)
	if err := ann.space.Seal(); err != nil { // as a session does
		log.Fatal(err)
	}
	if err := ann.space.Prune(); err != nil {
		log.Fatal(err)
	}
	ann.show()
	// Output:
	// bread 1
	// milk 3
}
