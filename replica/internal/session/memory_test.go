package session

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// memory is a replica without a database. An entry is any text; a log begins with one that has the
// key of its device. Seals are signatures of the hash of the last entry.
type memory struct {
	mu       sync.Mutex
	id       entry.Hash
	key      ed25519.PrivateKey
	name     [16]byte
	logs     []*memoryLog
	growths  []News // each is a batch
	tokens   map[[16]byte]Token
	changed  chan struct{}
	own      uint32
	forgets  bool // what arrived, so that peers are sent heads instead
	applied  int  // calls of Apply
	sessions uint64
	readers  map[[32]byte]bool
	times    map[[prefixSize]byte]uint64 // of the last entries
	ends     *Ends
}

// memoryLog is a log.
type memoryLog struct {
	id      entry.Hash
	entries [][]byte
	hashes  []entry.Hash
	sealed  uint64
	seals   map[uint64][64]byte // by the number of the entry
}

// errMemory is the reason why entries are refused.
var errMemory = errors.New("not a good entry")

// newMemory returns an empty replica, with a log of its own whose first entry is sealed.
func newMemory(space byte, device byte) *memory {
	m := &memory{id: entry.Hash{space}, key: ed25519.NewKeyFromSeed(bytes.Repeat([]byte{device}, 32)),
		name: [16]byte{device}, tokens: map[[16]byte]Token{}}
	m.write("begin")
	return m
}

// write appends an entry to the own log.
func (m *memory) write(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.logs) == 0 || m.own >= uint32(len(m.logs)) {
		first := append(append([]byte{}, m.key[32:]...), byte(len(m.logs)))
		m.own = uint32(len(m.logs))
		m.logs = append(m.logs, &memoryLog{id: chainHash(entry.Hash{}, first),
			seals: map[uint64][64]byte{}})
		m.logs[m.own].add(first)
	}
	m.logs[m.own].add([]byte(text))
	m.wakeLocked()
}

func chainHash(prev entry.Hash, text []byte) entry.Hash {
	return sha256.Sum256(append(append([]byte{}, prev[:]...), text...))
}

func (l *memoryLog) add(text []byte) {
	prev := entry.Hash{}
	if n := len(l.hashes); n > 0 {
		prev = l.hashes[n-1]
	}
	l.entries, l.hashes = append(l.entries, text), append(l.hashes, chainHash(prev, text))
}

func (m *memory) wakeLocked() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

func (m *memory) grewLocked(log uint32, from uint64, session uint64) {
	m.growths = append(m.growths,
		News{Log: log, From: from, To: m.logs[log].sealed, Session: session})
	m.wakeLocked()
}

func (m *memory) ID() entry.Hash               { return m.id }
func (m *memory) Key() [32]byte                { return [32]byte(m.key[32:]) }
func (m *memory) Sign(p []byte) [64]byte       { return [64]byte(ed25519.Sign(m.key, p)) }
func (m *memory) Database() [16]byte           { return m.name }
func (m *memory) Now() time.Time               { return time.Unix(1, 0) }
func (m *memory) EntryMax() int                { return 1 << 20 }
func (m *memory) Description() ([]byte, error) { return []byte("about"), nil }
func (m *memory) Describe([]byte) error        { return nil }
func (m *memory) Denied([32]byte, error)       {}
func (m *memory) Sync() error                  { return nil }
func (m *memory) Proof(uint32) (*Proof, error) { return nil, errMemory }
func (m *memory) Prove([]byte) error           { return errMemory }

// MayRead lets the devices in readers read; nil: every device.
func (m *memory) MayRead(device [32]byte) (reason, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.readers == nil || m.readers[device] {
		return nil, nil
	}
	return ErrNotAllowed, nil
}

func (m *memory) Token(database [16]byte) (Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.tokens[database], nil
}

func (m *memory) Remember(database [16]byte, t Token) { _ = m.Keep(database, t) }

func (m *memory) Keep(database [16]byte, t Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[database] = t
	return nil
}

// digestLocked returns a digest of the first batches.
func (m *memory) digestLocked(n int) (d [16]byte) {
	var p []byte
	for _, g := range m.growths[:n] {
		l := m.logs[g.Log]
		p = append(append(p, l.id[:]...), l.hashes[g.To-1][:]...)
	}
	sum := sha256.Sum256(p)
	copy(d[:], sum[:])
	return d
}

func (m *memory) positionLocked() Position {
	n := len(m.growths)
	return Position{Arrival: uint64(n), Token: Token{Batch: uint64(n), Digest: m.digestLocked(n)}}
}

func (m *memory) Position() (p Position, whole bool, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[m.own]
	return m.positionLocked(), l.sealed == uint64(len(l.entries)), nil
}

func (m *memory) Resume(t Token) (uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	ok := t.Batch > 0 && t.Batch <= uint64(len(m.growths)) &&
		m.digestLocked(int(t.Batch)) == t.Digest
	return t.Batch, ok, nil
}

func (m *memory) Announce(after uint64, most int) ([]Head, Position, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var heads []Head
	last := map[uint32]int{}
	for i, g := range m.growths {
		last[g.Log] = i
	}
	for i, g := range m.growths {
		if last[g.Log] != i || uint64(i) < after {
			continue
		}
		if len(heads) == most {
			return heads, Position{Arrival: uint64(i)}, true, nil
		}
		l := m.logs[g.Log]
		h := Head{Number: g.Log, Next: l.sealed, Hash: l.hashes[l.sealed-1]}
		copy(h.Log[:], l.id[:])
		heads = append(heads, h)
	}
	return heads, m.positionLocked(), false, nil
}

func (m *memory) Latest() (uint64, error) { return 0, nil }

func (m *memory) Ends() (*Ends, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ends != nil && m.ends.Position.Arrival == uint64(len(m.growths)) {
		return m.ends, nil
	}
	e := &Ends{Position: m.positionLocked()}
	for i, l := range m.logs {
		if l.sealed > 0 {
			h := Head{Log: [prefixSize]byte(l.id[:]), Number: uint32(i), Next: l.sealed,
				Hash: l.hashes[l.sealed-1]}
			e.All = append(e.All, End{Time: m.times[h.Log], Head: h})
		}
	}
	Sort(e.All)
	m.ends = e
	return e, nil
}

func (m *memory) News(after uint64) ([]News, Position, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.forgets && after != uint64(len(m.growths)) || after > uint64(len(m.growths)) {
		return nil, Position{}, false
	}
	return append([]News{}, m.growths[after:]...), m.positionLocked(), true
}

func (m *memory) Changed() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.changed == nil {
		m.changed = make(chan struct{})
	}
	return m.changed
}

func (m *memory) Seal() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[m.own]
	from, n := l.sealed, uint64(len(l.entries))
	if from == n {
		return nil
	}
	for seq := from; seq < n; seq++ {
		if seq%5 == 4 || seq == n-1 {
			l.seals[seq] = [64]byte(ed25519.Sign(m.key, l.hashes[seq][:]))
		}
	}
	l.sealed = n
	m.grewLocked(m.own, from, 0)
	return nil
}

func (m *memory) Own() (entry.Hash, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logs[m.own].id, nil
}

func (m *memory) Find(heads []Head) ([]Log, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := make([]Log, len(heads))
	for i := range heads {
		for n, l := range m.logs {
			if !bytes.Equal(l.id[:prefixSize], heads[i].Log[:]) {
				continue
			}
			found[i] = Log{Number: uint32(n), ID: l.id, Next: uint64(len(l.entries)), Sealed: l.sealed,
				Own: uint32(n) == m.own}
			if next := heads[i].Next; next > 0 && next <= uint64(len(l.entries)) {
				found[i].Hash = l.hashes[next-1]
			}
		}
	}
	return found, nil
}

func (m *memory) Holds() ([]string, error) { return nil, nil }
func (m *memory) Gaps(int) ([]Gap, error)  { return nil, nil }

func (m *memory) Run(log uint32, first uint64, _ *Reader) (*Run, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[log]
	r := &Run{Log: l.id, First: first}
	if first > 0 {
		r.Prev = l.hashes[first-1]
	}
	for seq := first; seq < l.sealed; seq++ {
		r.Entries = append(r.Entries, l.entries[seq])
		if seal, ok := l.seals[seq]; ok {
			r.Seal = seal
			return r, nil
		}
	}
	return nil, errors.New("there is no such run")
}

// Time returns a time by which logs take turns.
func (m *memory) Time(log uint32, seq uint64) (uint64, error) { return seq<<32 | uint64(log), nil }

func (m *memory) Apply(session uint64, runs []*Run) (refusals []Refusal, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.applied++
	for _, r := range runs {
		if reason := m.applyLocked(session, r); reason != nil {
			refusals = append(refusals, Refusal{Log: r.Log, Seq: r.First, Reason: reason})
		}
	}
	return refusals, nil
}

func (m *memory) applyLocked(session uint64, r *Run) error {
	n := uint32(0)
	for ; n < uint32(len(m.logs)) && m.logs[n].id != r.Log; n++ {
	}
	var prev entry.Hash
	l := &memoryLog{id: r.Log, seals: map[uint64][64]byte{}}
	if n < uint32(len(m.logs)) {
		l = m.logs[n]
	}
	have := uint64(len(l.entries))
	if r.First > have {
		return nil // a gap: dropped
	}
	if r.First > 0 {
		prev = l.hashes[r.First-1]
	}
	hashes := []entry.Hash{}
	for _, e := range r.Entries {
		prev = chainHash(prev, e)
		hashes = append(hashes, prev)
	}
	if r.First == 0 && hashes[0] != r.Log || len(r.Entries) == 0 {
		return errMemory
	}
	first := r.Entries[0]
	if have > 0 {
		first = l.entries[0]
	}
	if len(first) < 32 || !ed25519.Verify(first[:32], prev[:], r.Seal[:]) {
		return errMemory
	}
	for i, e := range r.Entries {
		if r.First+uint64(i) >= uint64(len(l.entries)) {
			l.add(e)
		}
	}
	if n == uint32(len(m.logs)) {
		m.logs = append(m.logs, l)
	}
	l.seals[r.End()-1] = r.Seal
	if from := l.sealed; r.End() > from {
		l.sealed = r.End()
		m.grewLocked(n, from, session)
	}
	return nil
}

// addLog adds a sealed log of another device, with some entries.
func (m *memory) addLog(device byte, number int, entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{device}, 32))
	first := binary.BigEndian.AppendUint64(append([]byte{}, key[32:]...), uint64(number))
	l := &memoryLog{id: chainHash(entry.Hash{}, first), seals: map[uint64][64]byte{}}
	l.add(first)
	for range entries {
		text := make([]byte, 20)
		_, _ = rand.Read(text)
		l.add(text)
	}
	l.sealed = uint64(len(l.entries))
	l.seals[l.sealed-1] = [64]byte(ed25519.Sign(key, l.hashes[l.sealed-1][:]))
	m.logs = append(m.logs, l)
	m.grewLocked(uint32(len(m.logs)-1), 0, 0)
}

// contents returns the last hash of each log.
func (m *memory) contents() map[entry.Hash]entry.Hash {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := map[entry.Hash]entry.Hash{}
	for _, l := range m.logs {
		all[l.id] = l.hashes[len(l.hashes)-1]
	}
	return all
}

// grownText is the entry that grow adds.
const grownText = "a little more"

// grow adds a sealed entry to a log that addLog has made, by its number.
func (m *memory) grow(log int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[log]
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
	l.add([]byte(grownText))
	from := l.sealed
	l.sealed = uint64(len(l.entries))
	l.seals[l.sealed-1] = [64]byte(ed25519.Sign(key, l.hashes[l.sealed-1][:]))
	m.grewLocked(uint32(log), from, 0)
}
