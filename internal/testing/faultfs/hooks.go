package faultfs

import (
	"sync"

	"github.com/stoatdb/stoat/internal/vfs"
)

// ShortWrite is the error of a hook that lets a WriteAt write a part before it fails. Other
// operations treat it as any error.
type ShortWrite struct {
	Bytes int   // how many are written
	Err   error // what WriteAt returns then
}

// Error implements error.
func (e *ShortWrite) Error() string { return "short write: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ShortWrite) Unwrap() error { return e.Err }

// FailAt returns a hook that fails the operation with the index n.
func FailAt(n int64, err error) Hook {
	return func(op Op) error {
		if op.Index == n {
			return err
		}
		return nil
	}
}

// ShortWriteAt returns a hook that fails the operation with the index n; if it writes, half of the
// bytes are written.
func ShortWriteAt(n int64, err error) Hook {
	return func(op Op) error {
		if op.Index == n {
			return &ShortWrite{Bytes: op.Bytes / 2, Err: err}
		}
		return nil
	}
}

// Quota is a limited amount of space. As on a disk, writing within a file takes none, removing and
// truncating gives it back, and a write for which there is too little writes what it can. What
// files hold before they are first written takes none. Safe for concurrent use.
type Quota struct {
	mu   sync.Mutex
	left int64
	ends map[string]int64 // what each file takes
}

// NewQuota returns a quota with space for this many bytes.
func NewQuota(bytes int64) *Quota { return &Quota{left: bytes, ends: make(map[string]int64)} }

// Add adds bytes of space, or removes them if negative.
func (q *Quota) Add(bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += bytes
}

// Hook is the hook to pass to New. It fails operations that lack space with vfs.ErrNoSpace.
func (q *Quota) Hook(op Op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	end := q.ends[op.Name]
	switch op.Kind {
	case Remove:
		q.left += end
		delete(q.ends, op.Name)
	case Truncate: // what it adds is a hole
		q.takeLocked(op.Name, min(end, op.Offset))
	case Preallocate:
		if op.Offset-end > q.left {
			return vfs.ErrNoSpace
		}
		q.takeLocked(op.Name, max(end, op.Offset))
	case WriteAt:
		wanted := max(end, op.Offset+int64(op.Bytes))
		fits := min(wanted, end+max(q.left, 0))
		q.takeLocked(op.Name, fits)
		if fits < wanted {
			return &ShortWrite{Bytes: int(max(0, fits-op.Offset)), Err: vfs.ErrNoSpace}
		}
	}
	return nil
}

// takeLocked makes the file take the bytes up to end.
func (q *Quota) takeLocked(name string, end int64) {
	q.left -= end - q.ends[name]
	q.ends[name] = end
}
