package studio

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
)

const (
	// followPause is how long a state of a database is shown before its files are looked at again.
	followPause = time.Second
	// followShare is how much longer than opening the database takes it is shown at least.
	followShare = 10
	// followWait is how long a request waits for a newer state if there is one already.
	followWait = time.Second
	// clockStep is the least time in which every file system gives two writes of a file different
	// times. A state of files that are younger may lack a write that changed no time.
	clockStep = 3 * time.Second
)

// follower opens a database read-only, and again when its files have changed. It is safe for
// concurrent use.
type follower struct {
	dir  string
	opts stoat.Options
	now  func() time.Time
	open func(dir string, opts *stoat.Options) (*stoat.DB, error)

	seen glance // of the files, before the last opening; belongs to the look that runs

	mu      sync.Mutex
	state   *state        // of the last opening that succeeded; nil before, and when closed
	err     error         // of the last opening
	looking chan struct{} // closed at the end of the look that runs; nil if none does
	checked time.Time
	took    time.Duration // the last opening
	closed  bool
}

// state is a database as it was when it was opened. The follower's lock guards it.
type state struct {
	db      *stoat.DB
	users   int
	retired bool // close it when the last user is gone
}

// follow opens the database in dir.
func follow(dir string, opts *stoat.Options) (*follower, error) {
	f := newFollower(dir, opts, time.Now)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refresh(context.Background()); err != nil {
		return nil, err
	}
	return f, f.err
}

// newFollower returns a follower that has not opened the database yet.
func newFollower(dir string, opts *stoat.Options, now func() time.Time) *follower {
	f := &follower{dir: dir, now: now, open: stoat.Open}
	if opts != nil {
		f.opts = *opts
	}
	f.opts.ReadOnly = true
	return f
}

func (f *follower) follows() bool { return true }
func (f *follower) name() string  { return f.dir }

func (f *follower) acquire(ctx context.Context) (*stoat.DB, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refresh(ctx); err != nil {
		return nil, nil, err
	}
	err := f.err
	if f.closed {
		err = stoat.ErrClosed
	}
	if err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without the advice for programmers
		}
		return nil, nil, fmt.Errorf("the database cannot be opened at the moment: %w", err)
	}
	s := f.state
	s.users++
	return s.db, func() { f.release(s) }, nil
}

func (f *follower) release(s *state) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.users--; s.users == 0 && s.retired {
		_ = s.db.Close() // it has written nothing
	}
}

// refresh looks at the files if it is time, and waits until what has changed is open. The state
// before is good enough if that takes long, and for other requests meanwhile.
func (f *follower) refresh(ctx context.Context) error {
	now, good := f.now(), f.state != nil && f.err == nil
	due := f.checked.IsZero() || now.Sub(f.checked) >= max(followPause, followShare*f.took)
	if f.looking == nil && due && !f.closed {
		f.checked, f.looking = now, make(chan struct{})
		go f.look(now, good)
	} else if f.looking == nil || f.state != nil || f.err != nil {
		return nil
	}
	if !good {
		return f.wait(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, followWait)
	defer cancel()
	_ = f.wait(ctx)
	return nil
}

// wait waits for the end of the look that runs, without the lock.
func (f *follower) wait(ctx context.Context) error {
	looking := f.looking
	f.mu.Unlock()
	defer f.mu.Lock()
	select {
	case <-looking:
		return nil
	case <-ctx.Done():
		return problemf(http.StatusServiceUnavailable, "opening the database takes long: try again")
	}
}

// look opens the database if its files have changed, or if there is no good state of it. It takes
// the lock for its result only.
func (f *follower) look(now time.Time, good bool) {
	g, err := glanceAt(f.dir, now)
	settled := !g.young && !f.seen.young && g.sum == f.seen.sum
	if err == nil && good && settled {
		f.looked(func() {})
		return
	}
	f.seen = g
	db, err := f.open(f.dir, &f.opts)
	took := f.now().Sub(now)
	f.looked(func() {
		f.took = took
		if f.err = err; err == nil {
			f.retire()
			f.state = &state{db: db}
		}
	})
}

// looked ends a look by its result.
func (f *follower) looked(result func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	result()
	close(f.looking)
	f.looking = nil
}

// retire closes the state once nobody uses it.
func (f *follower) retire() {
	if s := f.state; s != nil {
		if s.retired = true; s.users == 0 {
			_ = s.db.Close() // it has written nothing
		}
	}
	f.state = nil
}

func (f *follower) close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	if f.looking != nil {
		_ = f.wait(context.Background()) // it has no end
	}
	f.retire()
	return nil
}

// glance is what the files of a folder look like, without their contents.
type glance struct {
	sum   [sha256.Size]byte // of their names, sizes and times
	young bool              // one of them was written just now, and may change without a new time
}

// glanceAt looks at the files of a folder.
func glanceAt(dir string, now time.Time) (glance, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return glance{}, fmt.Errorf("look at the files: %w", err)
	}
	var g glance
	h := sha256.New()
	for _, e := range entries {
		info, err := e.Info()
		if err != nil { // it was removed
			g.young = true
			continue
		}
		g.young = g.young || now.Sub(info.ModTime()) < clockStep
		h.Write(describe(nil, info))
	}
	h.Sum(g.sum[:0])
	return g, nil
}

func describe(p []byte, info fs.FileInfo) []byte {
	p = binary.LittleEndian.AppendUint64(p, uint64(len(info.Name())))
	p = append(p, info.Name()...)
	p = binary.LittleEndian.AppendUint64(p, uint64(info.Size()))
	return binary.LittleEndian.AppendUint64(p, uint64(info.ModTime().UnixNano()))
}
