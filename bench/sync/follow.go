package sync

import (
	"errors"
	"net"
	"time"

	"github.com/stoatdb/stoat/replica"
)

// follow connects to a server so many times, and stays connected. It returns when both sides of
// each connection have what the other one had.
func (p *replicaProgram) follow(address string, connections int) error {
	if p.plain {
		return errUnsupported
	}
	if p.changes == nil {
		p.changes = make(chan item, 1)
		watching := make(chan struct{})
		go p.watch(watching)
		select {
		case <-watching: // or the first change might be taken for one that was there before
		case err := <-p.ended:
			return err
		}
	}
	settled := make(chan struct{}, connections)
	for range connections {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		before := false
		o := &replica.SyncOptions{OnStatus: func(s replica.SyncStatus) {
			if now := s.CaughtUp && s.Acknowledged; now && !before {
				before = true
				settled <- struct{}{}
			}
		}}
		go func() { p.end(replica.Sync(p.ctx, p.space, conn, o)) }()
	}
	for range connections {
		select {
		case <-settled:
		case err := <-p.ended:
			return err
		}
	}
	return nil
}

// end says that following has ended, unless it was said before.
func (p *replicaProgram) end(err error) {
	select {
	case p.ended <- errors.Join(errors.New("the connection ended"), err):
	default:
	}
}

// watch tells of records that change once it has closed watching.
func (p *replicaProgram) watch(watching chan<- struct{}) {
	first := true
	for changes, err := range p.items.Watch(p.ctx, p.db, p.items.Query()) {
		if err != nil {
			p.end(err)
			return
		}
		if first { // what is there already
			first = false
			close(watching)
			continue
		}
		for _, e := range changes.Changed {
			select {
			case p.changes <- *e.Record:
			case <-p.ctx.Done():
			}
		}
	}
}

// await waits until a record has a count, durably.
func (p *replicaProgram) await(r *request) (answer, error) {
	for {
		select {
		case it := <-p.changes:
			if it.ID != r.ID || it.Count != r.Count {
				continue
			}
			var err error
			if p.sync {
				err = p.db.Sync()
			}
			return answer{At: clock()}, err
		case err := <-p.ended:
			return answer{}, err
		}
	}
}

// put sets the count of a record.
func (p *replicaProgram) put(r *request) (a answer, err error) {
	a.At = clock()
	err = put(p.db, p.items, r.ID, r.Count)
	a.Durable = clock()
	return a, err
}

// clock returns the microseconds since 1970.
func clock() float64 { return float64(time.Now().UnixNano()) / 1_000 }
