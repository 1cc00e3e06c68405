package stress

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/record"
	"github.com/stoatdb/stoat/remote"
	"github.com/stoatdb/stoat/remote/memstore"
	"github.com/stoatdb/stoat/replica"
)

// item is a record that counts: each transaction that makes one adds 1 to the total.
type item struct {
	Key   string   `stoat:"key,key"`
	Owner string   `stoat:"owner,index"`
	Count int64    `stoat:"count,merge=sum"`
	Tags  []string `stoat:"tags,merge=set,index"`
}

// task has a field of every rule.
type task struct {
	ID     int64            `stoat:"id,key"`
	Title  string           `stoat:"title,index"`
	Note   string           `stoat:"note,merge=keep"`
	Done   bool             `stoat:"done"`
	Votes  int32            `stoat:"votes,merge=sum"`
	Best   int64            `stoat:"best,merge=max"`
	First  int64            `stoat:"first,merge=min"`
	Tags   []string         `stoat:"tags,merge=set,index"`
	Prices map[string]int64 `stoat:"prices,merge=set"`
}

// note is a record that is reverted now and then.
type note struct {
	Name string `stoat:"name,key"`
	Text string `stoat:"text"`
}

const (
	spaceName = "team"
	totalKey  = "total"
)

// member is a replica, one life of it after the other.
type member struct {
	name   string
	device *replica.Device
	opts   replica.Options
	store  *memstore.Store // nil: its database is in no store
	dir    string          // of the present life
	right  replica.Right
	writes bool // it tries to
	prunes bool
	id     *replica.SpaceID // to join; nil: there is a space in dir

	life   atomic.Pointer[life]
	living sync.Mutex // held while a life begins or ends
	lives  int
	backup string // a folder with a backup; empty: none

	mu    sync.Mutex
	acked []string // the keys of items whose commit was acknowledged
}

// life is a replica from when its database is opened until it is closed.
type life struct {
	m       *member
	db      *stoat.DB
	remote  *remote.DB // nil: it is not in a store
	space   *replica.Space
	items   *record.Collection[item]
	tasks   *record.Collection[task] // nil: not held
	notes   *record.Collection[note] // nil: not held
	closing atomic.Bool
	fenced  atomic.Bool // another writer may have the role
	ctx     context.Context
	end     context.CancelFunc
	work    sync.WaitGroup // watches
	using   sync.RWMutex   // held while a program acts
}

// open begins a life in the member's folder.
func (m *member) open(db *stoat.DB, inStore *remote.DB) (l *life, err error) {
	if db == nil && m.store != nil {
		if inStore, err = remote.Open(context.Background(), m.store, m.dir, shipping); err == nil {
			db = inStore.DB
		}
	} else if db == nil {
		db, err = stoat.Open(m.dir, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: open: %w", m.name, err)
	}
	l = &life{m: m, db: db, remote: inStore}
	l.ctx, l.end = context.WithCancel(context.Background())
	opts := m.opts
	opts.Device = m.device
	if m.id != nil {
		l.space, err = replica.Join(db, spaceName, *m.id, &opts)
		m.id = nil
	} else if l.space, err = replica.Open(db, spaceName, &opts); errors.Is(err, replica.ErrNotFound) {
		l.space, err = replica.Create(db, spaceName, &opts)
	}
	if err == nil {
		l.items, err = replica.Collection[item](l.space, "items", nil)
	}
	if err == nil && opts.Collections == nil {
		if l.tasks, err = replica.Collection[task](l.space, "tasks", nil); err == nil {
			l.notes, err = replica.Collection[note](l.space, "notes", nil)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", m.name, err), db.Close())
	}
	return l, nil
}

// shipping ships often.
var shipping = &remote.Options{Interval: 5 * time.Millisecond, CloseTimeout: time.Second}

// close ends a life.
func (l *life) close() error {
	l.closing.Store(true)
	l.end()
	var err error
	if l.remote != nil {
		err = l.remote.Close()
	} else {
		err = l.db.Close()
	}
	l.work.Wait()
	if l.fenced.Load() && errors.Is(err, remote.ErrFenced) {
		err = nil
	}
	return err
}

// expects returns nil for errors that are no surprise.
func (l *life) expects(err error, also ...error) error {
	if err == nil || l.closing.Load() && (errors.Is(err, stoat.ErrClosed) ||
		errors.Is(err, context.Canceled)) ||
		l.fenced.Load() && errors.Is(err, remote.ErrFenced) {
		return nil
	}
	for _, e := range also {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// nextDir returns a new folder for a life.
func (m *member) nextDir(root string) string {
	m.lives++
	return filepath.Join(root, fmt.Sprintf("%s-%d", m.name, m.lives))
}
