package studio

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
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

	mu      sync.Mutex
	state   *state // nil after an error
	err     error  // of the last opening
	seen    glance // of the files, before the last opening
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
	f := &follower{dir: dir, now: time.Now}
	if opts != nil {
		f.opts = *opts
	}
	f.opts.ReadOnly = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	return f, f.err
}

func (f *follower) follows() bool { return true }
func (f *follower) name() string  { return f.dir }

func (f *follower) acquire() (*stoat.DB, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refresh()
	if f.err != nil {
		err := f.err
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

// refresh opens the database again if it is time and its files have changed.
func (f *follower) refresh() {
	if f.closed {
		f.err = stoat.ErrClosed
		return
	}
	now := f.now()
	if !f.checked.IsZero() && now.Sub(f.checked) < max(followPause, followShare*f.took) {
		return
	}
	f.checked = now
	g, err := glanceAt(f.dir, now)
	settled := !g.young && !f.seen.young && g.sum == f.seen.sum
	if err == nil && f.state != nil && f.err == nil && settled {
		return
	}
	f.seen = g
	db, err := stoat.Open(f.dir, &f.opts)
	f.took = f.now().Sub(now)
	if f.err = err; err == nil {
		f.retire()
		f.state = &state{db: db}
	}
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
	f.retire()
	f.closed = true
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
