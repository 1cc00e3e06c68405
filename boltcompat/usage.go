package boltcompat

import "sync"

// usage counts the open transactions of a database, so that Close can wait for them. A lock for
// reading would not do: it is refused while somebody waits to lock for writing, and a transaction
// that begins another one would wait for Close, which waits for the first.
type usage struct {
	mu      sync.Mutex
	open    int           // transactions
	writing int           // those of them that are writable
	unused  chan struct{} // made by the first Close; closed once no transaction is open
}

// enter counts another transaction, and reports whether it may begin. The caller holds mu.
func (u *usage) enter(writable bool) bool {
	if u.unused != nil && (writable || u.writing == 0) {
		return false
	}
	u.open++
	if writable {
		u.writing++
	}
	return true
}

// leave counts a transaction off.
func (u *usage) leave(writable bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.open--
	if writable {
		u.writing--
	}
	if u.open == 0 && u.unused != nil {
		close(u.unused)
	}
}

// readers returns how many transactions that only read are open.
func (u *usage) readers() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.open - u.writing
}

// lockUnused waits until no transaction is open, and returns with mu locked.
func (u *usage) lockUnused() {
	u.mu.Lock()
	if u.unused == nil {
		u.unused = make(chan struct{})
	}
	if u.open > 0 {
		u.mu.Unlock()
		<-u.unused
		u.mu.Lock()
	}
}
