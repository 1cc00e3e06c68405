package sync

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/bench/machine"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/replica"
)

// Names in the database of a replica.
const (
	spaceName      = "team"
	collectionName = "items"
)

// replicaProgram is a program with a replica of ours, or with a database without replication.
type replicaProgram struct {
	plain   bool
	trusted bool
	sync    bool

	ctx   context.Context // of what runs in the background
	stop  context.CancelFunc
	db    *stoat.DB
	space *replica.Space // nil if plain
	items *record.Collection[item]

	listener net.Listener
	devices  []*device // others that have changed something

	changes chan item  // of a replica that follows another
	ended   chan error // why following ended
}

// Program is the main function of a program with a replica of ours.
func Program(name string, in io.Reader, out io.Writer) error {
	s, err := find(name)
	if err != nil {
		return err
	}
	if s.command != nil {
		return fmt.Errorf("%s is another program", name)
	}
	p := &replicaProgram{plain: name == plain, trusted: name == trusted,
		ended: make(chan error, 1)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	defer p.stop()
	return answerAll(in, out, p.do)
}

// do does what a request asks for.
func (p *replicaProgram) do(r *request) (answer, error) {
	switch r.Do {
	case doOpen:
		return p.open(r)
	case doCommit:
		return p.commit(r)
	case doSettle:
		return answer{}, p.db.Compact(p.ctx)
	case doPrune:
		return answer{}, p.prune()
	case doServe:
		return p.serve()
	case doSync:
		return p.once(r)
	case doFollow:
		return answer{}, p.follow(r.Address, 1)
	case doAwait:
		return p.await(r)
	case doPut:
		return p.put(r)
	case doIdle:
		return answer{}, p.follow(r.Address, r.Records)
	case doChange:
		return p.change(r)
	case doExport:
		return answer{}, p.exportTo(r.File)
	case doImport:
		return p.importFrom(r.File)
	case doDigest:
		return p.digest()
	case doMemory:
		return memory()
	case doClose:
		return answer{}, p.close()
	}
	return answer{}, errUnsupported
}

// open opens the database, and reads a record.
func (p *replicaProgram) open(r *request) (answer, error) {
	p.sync = r.Sync
	var key *replica.Device
	var err error
	if !p.plain {
		if key, err = loadDevice(r.Dir); err != nil {
			return answer{}, err
		}
	}
	began := time.Now()
	mode := stoat.SyncAlways
	if !r.Sync {
		mode = stoat.SyncNever
	}
	p.db, err = stoat.Open(filepath.Join(r.Dir, "db"), &stoat.Options{Sync: mode})
	if err != nil {
		return answer{}, err
	}
	if p.plain {
		p.items, err = record.Open[item](p.db, collectionName, nil)
	} else if p.space, err = p.openSpace(key, r.Invitation); err == nil {
		p.items, err = replica.Collection[item](p.space, collectionName, nil)
	}
	if err == nil && r.ID >= 0 {
		err = p.db.View(func(tx *stoat.Tx) error {
			_, err := p.items.Get(tx, r.ID)
			return err
		})
	}
	return answer{Nanoseconds: since(began)}, err
}

// loadDevice returns the device of a replica, which it makes if there is none.
func loadDevice(dir string) (*replica.Device, error) {
	file := filepath.Join(dir, "device")
	key, err := os.ReadFile(file)
	if !errors.Is(err, os.ErrNotExist) {
		if err != nil {
			return nil, err
		}
		return replica.LoadDevice(key)
	}
	device, err := replica.NewDevice()
	if err != nil {
		return nil, err
	}
	return device, os.WriteFile(file, device.Key(), 0o600)
}

// openSpace opens the space of the database. If there is none, it joins one, or founds it without
// an invitation.
func (p *replicaProgram) openSpace(key *replica.Device, invitation string) (*replica.Space, error) {
	o := &replica.Options{Device: key, Trusted: p.trusted}
	space, err := replica.Open(p.db, spaceName, o)
	switch {
	case !errors.Is(err, replica.ErrNotFound):
		return space, err
	case invitation == "":
		return p.create(o)
	}
	id, err := replica.ParseSpaceID(invitation)
	if err != nil {
		return nil, err
	}
	return replica.Join(p.db, spaceName, id, o)
}

// create creates the space, which everybody may read.
func (p *replicaProgram) create(o *replica.Options) (*replica.Space, error) {
	space, err := replica.Create(p.db, spaceName, o)
	if err != nil || p.trusted {
		return space, err
	}
	return space, p.db.Update(func(tx *stoat.Tx) error {
		return space.Grant(tx, replica.Anyone, replica.Read)
	})
}

// commit stores records, so many in a transaction.
func (p *replicaProgram) commit(r *request) (a answer, err error) {
	all, err := readItems(r.File, r.From, r.To)
	if err != nil {
		return a, err
	}
	for len(all) > 0 {
		batch := all[:min(r.Batch, len(all))]
		all = all[len(batch):]
		began := time.Now()
		err := p.db.Update(func(tx *stoat.Tx) error {
			for i := range batch {
				if err := p.items.Put(tx, &batch[i]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return a, err
		}
		a.Samples = append(a.Samples, since(began)/float64(len(batch)))
	}
	return a, nil
}

// serve lets others sync with the replica.
func (p *replicaProgram) serve() (answer, error) {
	if p.plain {
		return answer{}, errUnsupported
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return answer{}, err
	}
	p.listener = l
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				if err := replica.Sync(p.ctx, p.space, conn, nil); err != nil && p.ctx.Err() == nil {
					fmt.Fprintln(os.Stderr, "serve:", err)
				}
			}()
		}
	}()
	return answer{Address: l.Addr().String(), Invitation: p.space.ID().String()}, nil
}

// once syncs with a server, and returns when both are equal.
func (p *replicaProgram) once(r *request) (answer, error) {
	if p.plain {
		return answer{}, errUnsupported
	}
	began := time.Now()
	conn, err := net.Dial("tcp", r.Address)
	if err == nil {
		err = replica.Sync(p.ctx, p.space, conn, &replica.SyncOptions{Once: true})
	}
	took := since(began)
	if err != nil {
		return answer{}, err
	}
	return answer{Nanoseconds: took}, p.db.View(func(tx *stoat.Tx) error {
		n, err := p.items.Count(tx)
		if err == nil && n != uint64(r.Records) {
			err = fmt.Errorf("%d records instead of %d", n, r.Records)
		}
		return err
	})
}

func (p *replicaProgram) digest() (a answer, err error) {
	var all []item
	err = p.db.View(func(tx *stoat.Tx) error {
		for it, err := range p.items.All(tx) {
			if err != nil {
				return err
			}
			all = append(all, *it)
		}
		return nil
	})
	a.Digest = digestOf(all)
	return a, err
}

// memory returns the memory of this process, without garbage.
func memory() (answer, error) {
	debug.FreeOSMemory()
	u, err := machine.Now()
	return answer{Peak: float64(u.Peak), Resident: float64(u.Anon + u.File)}, err
}

func (p *replicaProgram) close() error {
	p.stop()
	var err error
	if p.listener != nil {
		err = p.listener.Close()
	}
	if p.space != nil && err == nil {
		err = p.space.Seal()
	}
	if p.db != nil {
		err = errors.Join(err, p.db.Close())
	}
	return err
}

// since returns the nanoseconds since a time.
func since(t time.Time) float64 { return float64(time.Since(t)) }
