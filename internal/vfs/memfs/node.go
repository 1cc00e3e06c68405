package memfs

import (
	"math/bits"
	"sync"
)

// content is what a file holds: size bytes in pages of equal length.
type content struct {
	pages []page // what lies behind the last one is zeros
	size  int64
}

// page is a piece of a file. Zeros follow data that is shorter than a page; what data has behind
// the end of the file is zeros, too.
type page struct {
	data   []byte
	shared bool // part of other contents too: to be copied before it is written
}

// node is a file, whatever its name and its handles.
type node struct {
	pageBytes int
	crashable bool

	mu   sync.RWMutex
	now  content
	flat []byte // what Map returned last; the pages there are windows of it

	// The rest is about what a power cut can take, and unused if the file is not crashable.
	durable   content // as of the last sync; its pages are never written
	low, high int64   // the extremes of the size since the last sync
	dirty     bool    // something has changed since the last sync
}

func newNode(crashable bool) *node {
	if crashable {
		return &node{pageBytes: pageBytesCrash, crashable: true}
	}
	return &node{pageBytes: pageBytes}
}

// readAt copies what lies at off into p and returns how many bytes there are.
func (n *node) readAt(p []byte, off int64) int {
	n.mu.RLock()
	defer n.mu.RUnlock()
	if off >= n.now.size {
		return 0
	}
	p = p[:min(int64(len(p)), n.now.size-off)]
	for read := 0; read < len(p); {
		i, from := n.locate(off + int64(read))
		part := p[read:min(len(p), read+n.pageBytes-from)]
		data := n.now.page(i)
		clear(part[copy(part, data[min(from, len(data)):]):])
		read += len(part)
	}
	return len(p)
}

func (n *node) writeAt(p []byte, off int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dirty = true
	for written := 0; written < len(p); {
		i, from := n.locate(off + int64(written))
		part := p[written:min(len(p), written+n.pageBytes-from)]
		copy(n.writable(i, from+len(part))[from:], part)
		written += len(part)
	}
	n.resize(max(n.now.size, off+int64(len(p))))
}

// truncate sets the size, cutting off pages or leaving zeros.
func (n *node) truncate(size int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.dirty = true
	n.now = n.now.cut(size, n.pageBytes)
	n.flat = n.flat[:min(int64(len(n.flat)), size)]
	n.resize(size)
}

// grow makes the file at least size bytes long.
func (n *node) grow(size int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if size > n.now.size {
		n.dirty = true
		n.resize(size)
	}
}

// view returns the first size bytes in one piece, or false if there are not as many. The first view
// of a file of several pages copies them, and they become windows of the copy.
func (n *node) view(size int64) ([]byte, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if size > n.now.size {
		return nil, false
	}
	if first := n.now.page(0); size <= int64(len(first)) && len(n.flat) < len(first) {
		n.flat = first
	}
	if size > int64(len(n.flat)) {
		n.join()
	}
	return n.flat[:size:size], true
}

// join moves the pages into one piece of memory.
func (n *node) join() {
	flat := make([]byte, n.now.size)
	pages := make([]page, 0, n.now.size/int64(n.pageBytes)+1)
	for from := 0; from < len(flat); from += n.pageBytes {
		to := min(len(flat), from+n.pageBytes)
		window := flat[from:to:to]
		copy(window, n.now.page(len(pages)))
		pages = append(pages, page{data: window})
	}
	n.flat, n.now.pages = flat, pages
}

// sync makes what there is durable.
func (n *node) sync() {
	if !n.crashable {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.dirty {
		return
	}
	n.durable = n.now.share()
	n.low, n.high, n.dirty = n.now.size, n.now.size, false
}

func (n *node) size() int64 {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.now.size
}

// resize records the size.
func (n *node) resize(size int64) {
	n.now.size = size
	n.low, n.high = min(n.low, size), max(n.high, size)
}

// locate returns the page that off lies in, and where in it.
func (n *node) locate(off int64) (i, from int) {
	return int(off / int64(n.pageBytes)), int(off % int64(n.pageBytes))
}

// writable returns page i, which it makes the file's own and at least length bytes long.
func (n *node) writable(i, length int) []byte {
	if missing := i + 1 - len(n.now.pages); missing > 0 {
		n.now.pages = append(n.now.pages, make([]page, missing)...)
	}
	old := n.now.pages[i]
	if !old.shared && length <= len(old.data) {
		return old.data
	}
	if length = max(length, len(old.data)); length > len(old.data) {
		length = n.room(i, length)
	}
	data := make([]byte, length)
	copy(data, old.data)
	n.now.pages[i] = page{data: data}
	if int64(i)*int64(n.pageBytes) < int64(len(n.flat)) {
		n.flat = nil
	}
	return data
}

// room returns how long to make page i so that it holds length bytes. The first page doubles, since
// most small files have no other; the rest are made whole.
func (n *node) room(i, length int) int {
	if i > 0 {
		return n.pageBytes
	}
	return max(sectorBytes, 1<<bits.Len(uint(length-1)))
}

// page returns the bytes of page i without the zeros that may follow.
func (c content) page(i int) []byte {
	if i >= len(c.pages) {
		return nil
	}
	return c.pages[i].data
}

// cut returns the content without what lies behind size.
func (c content) cut(size int64, pageBytes int) content {
	keep := int((size + int64(pageBytes) - 1) / int64(pageBytes))
	if keep <= len(c.pages) {
		clear(c.pages[keep:])
		c.pages = c.pages[:keep]
		if rest := int(size % int64(pageBytes)); rest > 0 {
			last := &c.pages[keep-1].data
			rest = min(rest, len(*last))
			*last = (*last)[:rest:rest] // no room, so that writing behind it makes a new page
		}
	}
	c.size = min(c.size, size)
	return c
}

// share returns a second content of the same pages, which neither writes from now on.
func (c content) share() content {
	pages := make([]page, len(c.pages))
	for i := range c.pages {
		c.pages[i].shared = true
		pages[i] = c.pages[i]
	}
	return content{pages: pages, size: c.size}
}
