package session

import (
	"encoding/binary"
	"fmt"

	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// Limits of messages.
const (
	version        = 1
	headsMax       = 1024 // in a frame
	wantsMax       = 1024 // in a frame
	holdsMax       = 4096 // collections in a frame
	nameMax        = 255  // bytes of the name of a collection
	textMax        = 512  // bytes of a reason
	descriptionMax = 2048
	nonceSize      = 32
	keySize        = 32
	databaseSize   = 16
	positionSize   = 16
	signatureSize  = 64
)

// hello opens a session: who can speak which version. Nothing in it identifies anybody.
type hello struct{ nonce [nonceSize]byte }

func (h *hello) append(dst []byte) []byte {
	return append(append(dst, version, 0), h.nonce[:]...) // no features
}

// parseHello decodes the payload of a hello. The error is [entry.ErrNewer] if the peer speaks what
// only a newer version knows.
func parseHello(p []byte) (*hello, error) {
	r := wire.NewReader(p)
	switch v := r.Byte(); {
	case r.Err() != nil:
	case v > version:
		return nil, newer("version %d of the protocol", v)
	case v < version:
		return nil, broken("it speaks version %d of it, and this side version %d: update the peer", v,
			version)
	}
	if features := r.Uvarint(); features != 0 {
		return nil, newer("features %x of the protocol", features)
	}
	h := &hello{nonce: r.Hash()}
	return h, r.End()
}

// newer returns an error that is [entry.ErrNewer], about what the peer speaks.
func newer(format string, args ...any) error {
	return fmt.Errorf("the peer speaks "+format+", and this side version %d: update this side: %w",
		append(args, version, entry.ErrNewer)...)
}

// The flags of an auth.
const (
	flagAsks  = 1 // for the description of the space
	flagOnly  = 2 // it is meant for one device: audience
	flagWhole = 4 // nothing is held back: everything that was written is sealed
	flagsAll  = flagAsks | flagOnly | flagWhole
)

// auth proves who speaks, and says for which space.
type auth struct {
	hidden    [32]byte // the space: see hide
	key       [keySize]byte
	database  [databaseSize]byte
	position  [positionSize]byte // how far the replica has got: see hidePosition
	clock     uint64             // the time of day, in milliseconds since 1970
	flags     uint64
	signature [signatureSize]byte
}

// appendSigned appends what comes before the signature.
func (a *auth) appendSigned(dst []byte) []byte {
	dst = append(append(dst, a.hidden[:]...), a.key[:]...)
	dst = append(append(dst, a.database[:]...), a.position[:]...)
	return binary.AppendUvarint(binary.BigEndian.AppendUint64(dst, a.clock), a.flags)
}

func (a *auth) append(dst []byte) []byte { return append(a.appendSigned(dst), a.signature[:]...) }

func parseAuth(p []byte) (*auth, error) {
	r := wire.NewReader(p)
	a := &auth{hidden: r.Hash(), key: r.Hash()}
	copy(a.database[:], r.Take(databaseSize))
	copy(a.position[:], r.Take(positionSize))
	a.clock, a.flags = r.Uint64(), r.Uvarint()
	if a.flags > flagsAll {
		r.Fail("flags %x are reserved", a.flags)
	}
	copy(a.signature[:], r.Take(signatureSize))
	return a, r.End()
}

func (t *Token) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, t.Batch)
	if t.Batch > 0 {
		dst = append(dst, t.Digest[:]...)
	}
	return dst
}

// read reads a token.
func (t *Token) read(r *wire.Reader) {
	if t.Batch = r.Uvarint(); t.Batch > 0 {
		copy(t.Digest[:], r.Take(len(t.Digest)))
	}
}

// reach is how far a sink has what the source has.
type reach struct {
	all   bool // it has what the source's auth is about
	few   bool // it has few logs, so that ranges are not worth it
	token Token
	time  uint64 // the latest that it knows, unless it has few logs
}

func (k *reach) append(dst []byte) []byte {
	if dst = appendFlag(dst, k.all); k.all {
		return dst
	}
	if dst = appendFlag(dst, k.few); !k.few {
		dst = binary.BigEndian.AppendUint64(dst, k.time)
	}
	return k.token.append(dst)
}

func parseReach(p []byte) (k reach, err error) {
	r := wire.NewReader(p)
	if k.all = readFlag(&r); !k.all {
		if k.few = readFlag(&r); !k.few {
			k.time = r.Uint64()
		}
		k.token.read(&r)
	}
	return k, r.End()
}

// headsPage is a part of the ends of logs that a source announces.
type headsPage struct {
	last  bool // no other follows
	heads []Head
}

func (h *headsPage) append(dst []byte) []byte {
	dst = binary.AppendUvarint(appendFlag(dst, h.last), uint64(len(h.heads)))
	for i := range h.heads {
		dst = binary.AppendUvarint(append(dst, h.heads[i].Log[:]...), h.heads[i].Next)
		dst = append(dst, h.heads[i].Check[:]...)
	}
	return dst
}

func parseHeads(p []byte) (*headsPage, error) {
	r := wire.NewReader(p)
	h := &headsPage{last: readFlag(&r)}
	h.heads = make([]Head, r.Count(headsMax, prefixSize+1+8))
	for i := range h.heads {
		head := &h.heads[i]
		copy(head.Log[:], r.Take(prefixSize))
		if head.Next = r.Uvarint(); head.Next == 0 || head.Next > entry.SeqMax {
			r.Fail("a log of %d entries", head.Next)
		}
		copy(head.Check[:], r.Take(len(head.Check)))
	}
	return h, r.End()
}

// want asks for the entries of a log from one number up to another.
type want struct {
	log      [prefixSize]byte
	from, to uint64
	content  bool // of entries that the sink has
}

// choice asks for the entries of a log on a page of heads, from one number up to the end.
type choice struct {
	index int // of the log on the page
	from  uint64
}

// wants is what a sink asks for.
type wants struct {
	answer  bool     // to the oldest page of heads that was not answered yet
	choices []choice // if so: ascending
	content bool     // if not: the content of entries that are there
	wants   []want   // if not
}

// The kinds of wants.
const (
	wantEntries = 0
	wantAnswer  = 1
	wantContent = 2
)

func (w *wants) append(dst []byte) []byte {
	k := byte(wantEntries)
	if w.answer {
		k = wantAnswer
	} else if w.content {
		k = wantContent
	}
	dst = binary.AppendUvarint(append(dst, k), uint64(len(w.choices)+len(w.wants)))
	next := 0
	for _, c := range w.choices {
		dst = binary.AppendUvarint(binary.AppendUvarint(dst, uint64(c.index-next)), c.from)
		next = c.index + 1
	}
	for i := range w.wants {
		dst = binary.AppendUvarint(append(dst, w.wants[i].log[:]...), w.wants[i].from)
		dst = binary.AppendUvarint(dst, w.wants[i].to)
	}
	return dst
}

func parseWants(p []byte) (*wants, error) {
	r := wire.NewReader(p)
	k := r.Byte()
	if k > wantContent {
		r.Fail("wants of the kind %d", k)
	}
	w := &wants{answer: k == wantAnswer, content: k == wantContent}
	if w.answer {
		w.choices = make([]choice, r.Count(headsMax, 2))
		next := uint64(0)
		for i := range w.choices {
			gap := r.Uvarint()
			if gap >= headsMax || next+gap >= headsMax {
				r.Fail("log %d of a page", gap)
			}
			w.choices[i] = choice{int(next + gap), r.Uvarint()}
			next += gap + 1
		}
		return w, r.End()
	}
	w.wants = make([]want, r.Count(wantsMax, prefixSize+2))
	for i := range w.wants {
		want := &w.wants[i]
		copy(want.log[:], r.Take(prefixSize))
		want.from, want.to, want.content = r.Uvarint(), r.Uvarint(), w.content
		if want.from >= want.to || want.to > entry.SeqMax {
			r.Fail("entries from %d to %d", want.from, want.to)
		}
	}
	return w, r.End()
}

// mark says that the peer was sent everything up to a batch.
type mark struct {
	final bool // the source holds nothing back: its own entries are sealed
	again bool // the token is the one of the mark before
	token Token
}

func (m *mark) append(dst []byte) []byte {
	dst = appendFlag(appendFlag(dst, m.final), m.again)
	if m.again {
		return dst
	}
	return m.token.append(dst)
}

// appendHolds appends the names of collections, which ascend.
func appendHolds(dst []byte, names []string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(names)))
	for _, name := range names {
		dst = wire.AppendBytes(dst, name)
	}
	return dst
}

func parseHolds(p []byte) (names map[string]bool, err error) {
	r := wire.NewReader(p)
	names = map[string]bool{}
	last := ""
	for range r.Count(holdsMax, 2) {
		name := string(r.Bytes(1, nameMax))
		if name <= last {
			r.Fail("the collections are not sorted")
		}
		names[name], last = true, name
	}
	return names, r.End()
}

func parseMark(p []byte) (m mark, err error) {
	r := wire.NewReader(p)
	m.final, m.again = readFlag(&r), readFlag(&r)
	if !m.again {
		m.token.read(&r)
	}
	return m, r.End()
}

// ack says that everything up to a batch is durable.
type ack struct {
	final    bool // as in the mark
	complete bool // and merged; else some entries wait for others, or were refused
	denied   bool // everything was looked at, and the source still may not read
	batch    uint64
}

func (a *ack) append(dst []byte) []byte {
	return binary.AppendUvarint(
		appendFlag(appendFlag(appendFlag(dst, a.final), a.complete), a.denied), a.batch)
}

func parseAck(p []byte) (a ack, err error) {
	r := wire.NewReader(p)
	a.final, a.complete, a.denied = readFlag(&r), readFlag(&r), readFlag(&r)
	a.batch = r.Uvarint()
	return a, r.End()
}

// parseCredit decodes how many bytes more a source may send.
func parseCredit(p []byte) (n uint64, err error) {
	r := wire.NewReader(p)
	if n = r.Uvarint(); n > creditMax {
		r.Fail("a credit of %d bytes", n)
	}
	return n, r.End()
}

// refused says why an entry was not taken.
type refused struct {
	log    [32]byte
	seq    uint64
	forked bool
	reason string
}

func (f *refused) append(dst []byte) []byte {
	dst = binary.AppendUvarint(append(dst, f.log[:]...), f.seq)
	return wire.AppendBytes(appendFlag(dst, f.forked), cut(f.reason))
}

func parseRefused(p []byte) (*refused, error) {
	r := wire.NewReader(p)
	f := &refused{log: r.Hash(), seq: r.Uvarint()}
	f.forked = readFlag(&r)
	f.reason = string(r.Bytes(0, textMax))
	return f, r.End()
}

// bye ends a session.
type bye struct {
	failed bool
	reason string
}

func (b *bye) append(dst []byte) []byte {
	return wire.AppendBytes(appendFlag(dst, b.failed), cut(b.reason))
}

func parseBye(p []byte) (*bye, error) {
	r := wire.NewReader(p)
	b := &bye{failed: readFlag(&r)}
	b.reason = string(r.Bytes(0, textMax))
	return b, r.End()
}

// cut returns as much of a text as a message has room for.
func cut(text string) string { return text[:min(len(text), textMax)] }

func appendFlag(dst []byte, set bool) []byte {
	if set {
		return append(dst, 1)
	}
	return append(dst, 0)
}

func readFlag(r *wire.Reader) bool {
	b := r.Byte()
	if b > 1 {
		r.Fail("a flag of %d", b)
	}
	return b == 1
}
