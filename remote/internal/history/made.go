package history

import (
	"sync"

	"github.com/stoatdb/stoat/remote/internal/object"
)

// madeKept is how many objects a process knows for its own.
const madeKept = 64

// made is the objects that a process has prepared last. A copy of the process has the same claim,
// so the epoch does not tell whose an object is. Safe for concurrent use.
type made struct {
	mu   sync.Mutex
	last [madeKept]madeObject // by their numbers, modulo the length
}

// madeObject is the name and the random bits of an object.
type madeObject struct {
	number uint64
	id     object.ID
}

func (m *made) add(o *object.Log) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last[o.Number%madeKept] = madeObject{o.Number, o.ID}
}

// is reports whether an object that was read is one of them.
func (m *made) is(o *object.Log) bool { return m.at(o.Number) == madeObject{o.Number, o.ID} }

// forgot reports whether so many were prepared since that nobody knows.
func (m *made) forgot(o *object.Log) bool { return m.at(o.Number).number > o.Number }

func (m *made) at(n uint64) madeObject {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.last[n%madeKept]
}
