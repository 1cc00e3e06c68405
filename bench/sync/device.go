package sync

import (
	"errors"
	"net"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// device is a replica in memory, in the process of the server's replica.
type device struct {
	db    *stoat.DB
	space *replica.Space
	items *record.Collection[item]
}

// newDevice returns a device that has joined the space and may write to it.
func (p *replicaProgram) newDevice() (*device, error) {
	key, err := replica.NewDevice()
	if err != nil {
		return nil, err
	}
	err = p.db.Update(func(tx *stoat.Tx) error {
		if p.trusted {
			return nil
		}
		return p.space.Grant(tx, key.ID(), replica.Write)
	})
	if err != nil {
		return nil, err
	}
	d := &device{}
	if d.db, err = stoat.OpenMemory(nil); err != nil {
		return nil, err
	}
	d.space, err = replica.Join(d.db, spaceName, p.space.ID(), &replica.Options{Device: key})
	if err != nil {
		return nil, err
	}
	d.items, err = replica.Collection[item](d.space, collectionName, nil)
	return d, err
}

// change has several devices change a record each, and the replica learn of it.
func (p *replicaProgram) change(r *request) (a answer, err error) {
	if p.plain {
		return a, errUnsupported
	}
	for i := r.From; i < r.To; i++ {
		if i == len(p.devices) {
			d, err := p.newDevice()
			if err != nil {
				return a, err
			}
			p.devices = append(p.devices, d)
		}
		d := p.devices[i]
		if err := p.meet(d); err != nil {
			return a, err
		}
		if err := put(d.db, d.items, int64(i), r.Count); err != nil {
			return a, err
		}
		if err := p.meet(d); err != nil {
			return a, err
		}
	}
	return a, nil
}

// meet makes a device and the replica equal.
func (p *replicaProgram) meet(d *device) error {
	x, y := net.Pipe()
	done := make(chan error, 1)
	go func() { done <- replica.Sync(p.ctx, d.space, y, nil) }()
	err := replica.Sync(p.ctx, p.space, x, &replica.SyncOptions{Once: true})
	return errors.Join(err, <-done)
}

// put sets the count of a record.
func put(db *stoat.DB, items *record.Collection[item], id, count int64) error {
	return db.Update(func(tx *stoat.Tx) error {
		return items.Update(tx, id, func(it *item) error {
			it.Count = count
			return nil
		})
	})
}
