package commit

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stoatdb/stoat/internal/memtable"
)

// recent holds the writes of the newest commits, and is where followers wait for more.
//
// While there are followers, every commit leaves its writes here; as many of the newest are kept as
// fit the limit. Without followers, a commit costs two more atomic loads. A follower holds the
// mutex, shared with others, to take a commit out, never while it delivers one. What slow ones miss
// here, they read from the log.
type recent struct {
	limit     int64 // of bytes
	followers atomic.Int64
	bell      atomic.Pointer[bell]   // nil if nobody waits
	ended     atomic.Pointer[ending] // why there will be no more commits; nil if there may be

	mu      sync.RWMutex
	first   uint64   // the number of the oldest commit that is kept
	commits [][]byte // the payloads of consecutive commits, each as one; nil for one in tables
	bytes   int64    // in them
}

// ending is why there will be no more commits.
type ending struct{ err error }

// keptOverhead is what a commit that is kept takes besides its payload.
const keptOverhead = 64

func (r *recent) isFollowed() bool { return r.followers.Load() > 0 }

// leave counts one follower less. After the last one nothing is kept.
func (r *recent) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.followers.Add(-1) == 0 {
		r.restartLocked(0)
	}
}

// restartLocked forgets all commits; the next one that can be kept is the given one.
func (r *recent) restartLocked(next uint64) { r.first, r.commits, r.bytes = next, nil, 0 }

// add keeps a commit's payloads, which never change, if there are followers; a commit in tables has
// none. A single one is kept as it is, with the memory around it. It must come before the commit is
// visible, or followers look for it in the log. Only the appender may call it, in commit order.
func (r *recent) add(commit uint64, payloads [][]byte) {
	if !r.isFollowed() {
		return
	}
	var whole []byte
	size := 0
	for _, p := range payloads {
		size += len(p)
	}
	isKept := int64(size)+keptOverhead <= r.limit
	switch {
	case !isKept || size == 0:
	case len(payloads) == 1:
		whole = slices.Clip(payloads[0])
	default:
		whole = slices.Concat(payloads...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.isFollowed() { // any more
		return
	}
	if !isKept {
		r.restartLocked(commit + 1) // it is in the log
		return
	}
	if commit != r.first+uint64(len(r.commits)) {
		r.restartLocked(commit)
	}
	r.commits = append(r.commits, whole)
	r.bytes += int64(size) + keptOverhead
	for r.bytes > r.limit {
		r.bytes -= int64(len(r.commits[0])) + keptOverhead
		r.commits[0] = nil
		r.commits, r.first = r.commits[1:], r.first+1
	}
}

// sharedBytes is the size of the smallest memtable whose memory keeps commits. A smaller one may
// have little else in it: if each was flushed after a commit or two, these would take many times
// what counts.
const sharedBytes = 128 << 10

// addEdit is add for the payloads that were streamed and those of an edit that is being committed.
func (r *recent) addEdit(commit uint64, streamed [][]byte, edit *memtable.Edit) {
	if !r.isFollowed() {
		return
	}
	payloads := append(streamed, edit.Pending()...)
	if edit.Bytes() < sharedBytes {
		payloads = [][]byte{slices.Concat(payloads...)}
	}
	r.add(commit, payloads)
}

// get returns the payload of a commit, nil for one in tables. It is immutable and stays valid. ok
// is false if the commit is not kept.
func (r *recent) get(commit uint64) (payload []byte, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if i := commit - r.first; commit >= r.first && i < uint64(len(r.commits)) {
		return r.commits[i], true
	}
	return nil, false
}
