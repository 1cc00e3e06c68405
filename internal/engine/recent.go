package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// recent is where followers wait for commits, and find the newest ones.
//
// While there are followers, every commit leaves a copy of its writes here, as many of the newest
// as fit the limit. Without any, a commit costs two atomic loads more. A follower holds the mutex,
// shared with others, to take a commit out, never while it delivers one, so that slow ones delay
// nobody; what they miss here, they read from the log.
type recent struct {
	limit     int64 // of bytes
	followers atomic.Int64
	bell      atomic.Pointer[bell] // nil if nobody waits
	ended     atomic.Bool          // the engine is closed: no more commits

	mu      sync.RWMutex // guards the fields below
	first   uint64       // the number of the oldest commit that is kept
	commits [][]byte     // the payloads of consecutive commits, each as one; nil for one in tables
	bytes   int64        // in them
}

// bell is what followers wait at, once. Ringing it wakes one of them, who wakes the others: so the
// commit that rings pays for one, however many they are.
type bell struct {
	struck chan struct{} // holds an item for the one to be woken
	rung   chan struct{} // closed by that one
}

// keptOverhead is what a commit that is kept takes besides its payload.
const keptOverhead = 64

// followed reports whether there are followers.
func (f *recent) followed() bool { return f.followers.Load() > 0 }

// join counts a follower. The caller holds Engine.turn, so that no commit is half done.
func (f *recent) join() { f.followers.Add(1) }

// leave takes back a join. After the last one nothing is kept.
func (f *recent) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.followers.Add(-1) == 0 {
		f.restartLocked(0)
	}
}

// restartLocked forgets all commits; the next one that can be kept is the given one.
func (f *recent) restartLocked(next uint64) { f.first, f.commits, f.bytes = next, nil, 0 }

// add keeps a copy of a commit's payloads, if there are followers; none stands for a commit that is
// in tables. It must come before the commit is visible, or followers look for it elsewhere. The
// caller holds Engine.turn, so that commits come in order.
func (f *recent) add(commit uint64, payloads [][]byte) {
	if !f.followed() {
		return
	}
	var whole []byte
	size := 0
	for _, p := range payloads {
		size += len(p)
	}
	if int64(size)+keptOverhead <= f.limit && size > 0 {
		whole = make([]byte, 0, size)
		for _, p := range payloads {
			whole = append(whole, p...)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.followed() { // any more
		return
	}
	if int64(size)+keptOverhead > f.limit {
		f.restartLocked(commit + 1) // it is in the log
		return
	}
	if commit != f.first+uint64(len(f.commits)) {
		f.restartLocked(commit)
	}
	f.commits = append(f.commits, whole)
	f.bytes += int64(size) + keptOverhead
	for f.bytes > f.limit {
		f.bytes -= int64(len(f.commits[0])) + keptOverhead
		f.commits[0] = nil
		f.commits, f.first = f.commits[1:], f.first+1
	}
}

// get returns the payload of a commit, nil for one in tables. It is immutable and stays valid. ok
// is false if it is not kept.
func (f *recent) get(commit uint64) (payload []byte, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if i := commit - f.first; commit >= f.first && i < uint64(len(f.commits)) {
		return f.commits[i], true
	}
	return nil, false
}

// wake lets those who wait look at what is visible now. It takes no lock.
func (f *recent) wake() {
	if f.bell.Load() == nil {
		return
	}
	if b := f.bell.Swap(nil); b != nil {
		b.struck <- struct{}{}
	}
}

// end says that there will be no more commits.
func (f *recent) end() {
	f.ended.Store(true)
	f.wake()
}

// nextBell returns the bell that rings next.
func (f *recent) nextBell() *bell {
	for {
		if b := f.bell.Load(); b != nil {
			return b
		}
		b := &bell{struck: make(chan struct{}, 1), rung: make(chan struct{})}
		if f.bell.CompareAndSwap(nil, b) {
			return b
		}
	}
}

// wait returns when the bell has rung, or why ctx ended.
func (b *bell) wait(ctx context.Context) error {
	select {
	case <-b.struck:
		close(b.rung)
		return nil
	case <-b.rung:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await returns the newest visible commit once that is above seen, ErrClosed if there will be none,
// and the error of ctx when that ends.
func (e *Engine) await(ctx context.Context, seen uint64) (newest uint64, err error) {
	if newest, err = e.look(ctx, seen); newest > seen || err != nil {
		return newest, err
	}
	for {
		b := e.recent.nextBell() // before the look, or what comes in between would not ring it
		if newest, err = e.look(ctx, seen); newest > seen || err != nil {
			return newest, err
		}
		if err := b.wait(ctx); err != nil {
			return 0, err
		}
	}
}

// look is await without waiting: it returns 0 if there is nothing to return yet.
func (e *Engine) look(ctx context.Context, seen uint64) (newest uint64, err error) {
	ended := e.recent.ended.Load() // before the newest commit
	newest = e.state.Load().Commit
	switch {
	case ctx.Err() != nil:
		return 0, ctx.Err()
	case newest > seen:
		return newest, nil
	case ended:
		return 0, ErrClosed
	}
	return 0, nil
}
