package torture

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// generator draws random actions and applies them to twins. The same seed gives the same actions.
type generator struct {
	rng   *rand.Rand
	clock *model.Clock // advanced between actions
	keys  int          // number of different keys
	names int          // number of different bucket names
	long  bool         // some values take tens of kilobytes

	loaded int // keys loaded so far behind all others

	asked string                  // the last key drawn
	wrote func(key, value string) // if not nil, called with each key and its value
}

func newGenerator(seed uint64, clock *model.Clock) *generator {
	p := &generator{rng: rand.New(rand.NewPCG(seed, 1)), clock: clock, names: 4}
	p.keys = 1 << (2 + p.rng.IntN(9))
	p.long = p.rng.IntN(4) == 0
	return p
}

// chance returns true once in n times on average.
func (p *generator) chance(n int) bool { return p.rng.IntN(n) == 0 }

// key returns one of p.keys keys of many shapes: short, little-endian, with long common prefixes,
// with 0x00 and 0xFF at the ends, and a few long ones.
func (p *generator) key() string {
	p.asked = p.newKey()
	return p.asked
}

func (p *generator) newKey() string {
	n := p.rng.IntN(p.keys)
	switch n % 8 {
	case 0:
		return string(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	case 1:
		return string(binary.BigEndian.AppendUint64(nil, uint64(n)))
	case 2:
		return fmt.Sprintf("a long common prefix/and then some/%d", n)
	case 3:
		return string([]byte{0xFF, 0xFF, byte(n), byte(n >> 8)})
	case 4:
		return string([]byte{byte(n >> 3), 0})
	case 5:
		return strings.Repeat("\x00", 1+n%5) + fmt.Sprint(n)
	case 6:
		return strings.Repeat("x", 1+n*n%400)
	}
	return fmt.Sprint(n)
}

// value draws a value, which may compress well or not at all.
func (p *generator) value() string {
	value := p.payload().String()
	p.note(p.asked, value)
	return value
}

func (p *generator) note(key, value string) {
	if p.wrote != nil {
		p.wrote(key, value)
	}
}

// payload draws the recipe of a value.
func (p *generator) payload() payload {
	v := payload{shape: "event", size: p.rng.IntN(200), seed: p.rng.IntN(1 << 20)}
	if p.chance(3) {
		return v
	}
	v.shape = []string{"text", "noise"}[p.rng.IntN(2)]
	switch n := p.rng.IntN(100); {
	case n < 8:
		return payload{}
	case n < 65:
		v.size = 1 + p.rng.IntN(30)
	case n < 95:
		v.size = 30 + p.rng.IntN(400)
	case n < 99 || !p.long:
		v.size = 500 + p.rng.IntN(5000)
	default:
		v.size = 10_000 + p.rng.IntN(60_000)
	}
	return v
}

// event draws a value that resembles others of its kind.
func (p *generator) event(kind string) string {
	return fmt.Sprintf(`{"kind":%q,"id":"%016x","count":%d,"text":%q}`, kind, p.rng.Uint64(),
		p.rng.IntN(1000), strings.Repeat("again ", p.rng.IntN(9)))
}

// name returns one of a few bucket names.
func (p *generator) name() string { return string(rune('a' + p.rng.IntN(p.names))) }

// pick returns an existing bucket, most often the root.
func (p *generator) pick(root twin) (twin, error) {
	at := root
	for range 3 {
		if p.chance(2) {
			break
		}
		child, ok, err := at.child(p.name())
		if err != nil {
			return at, err
		}
		if !ok {
			break
		}
		at = child
	}
	return at, nil
}

// writeAction draws an action that writes to one bucket.
func (p *generator) writeAction() action {
	a := action{key: p.key()}
	switch op := p.rng.IntN(100); {
	case op < 48:
		a.verb, a.value = "put", p.payload()
	case op < 58:
		a.verb, a.value, a.n = "expire", p.payload(), int(1+p.ttl()/time.Millisecond)
	case op < 72:
		a.verb = "delete"
	case op < 75:
		a = rangeAction("deleterange", p.deletedRange())
	case op < 81:
		a.verb, a.value, a.old = "swap", p.payload(), p.expected()
	case op < 84:
		a.verb, a.old = "remove", p.expected()
	case op < 92:
		a.verb, a.key = "create", p.name()
	case op < 95:
		a.verb, a.key = "drop", p.name()
	case op < 99:
		a.verb, a.key = "next", ""
	default:
		a.verb, a.key, a.n = "setsequence", "", p.rng.IntN(1000)
	}
	return a
}

// rangeAction returns the action on a range.
func rangeAction(verb string, r stoat.Range) action {
	return action{
		verb: verb, key: string(r.Start), end: string(r.End), n: r.Limit, reverse: r.Reverse,
	}
}

// expected draws the value for a comparison: half of the time the current one.
func (p *generator) expected() payload {
	switch p.rng.IntN(4) {
	case 0:
		return payload{shape: absent}
	case 1:
		return p.payload()
	}
	return payload{shape: current}
}

// write applies n random actions, some of them reads, in a writable transaction.
func (p *generator) write(root twin, n int) error {
	for range n {
		t, err := p.pick(root)
		if err != nil {
			return err
		}
		switch op := p.rng.IntN(100); {
		case op < 10:
			err = p.readOne(t, func() error { return p.disturb(t) })
		case op < 12:
			err = p.move(root, t)
		case op < 13:
			err = p.deleteRanges(t)
		case op < 15:
			p.wait()
		default:
			a := p.writeAction()
			p.note(a.key, a.value.String())
			err = t.do(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeMuch writes so much that part of the transaction reaches the log before its end.
func (p *generator) writeMuch(t twin) error {
	block := make([]byte, 0, 16<<10)
	for len(block) < cap(block) {
		block = binary.LittleEndian.AppendUint64(block, p.rng.Uint64())
	}
	for range 45 {
		p.rng.Shuffle(8, func(i, j int) { block[i], block[j] = block[j], block[i] })
		key := fmt.Sprint("much", p.rng.IntN(60))
		p.note(key, string(block))
		if err := t.put(key, string(block)); err != nil {
			return err
		}
	}
	return nil
}

// ttl draws a time to live that passes soon, late or never.
func (p *generator) ttl() time.Duration {
	switch p.rng.IntN(4) {
	case 0:
		return time.Duration(1 + p.rng.Int64N(int64(3*time.Millisecond)))
	case 1:
		return time.Hour
	}
	return time.Duration(1+p.rng.IntN(100)) * time.Millisecond
}

// wait lets time pass.
func (p *generator) wait() { p.clock.Advance(time.Duration(1+p.rng.IntN(20)) * time.Millisecond) }

// deleteRanges deletes many small ranges.
func (p *generator) deleteRanges(t twin) error {
	for range 1 + p.rng.IntN(40) {
		key := p.key()
		r := stoat.Range{Start: []byte(key), End: []byte(key + "\xff")}
		if p.chance(2) {
			r.End = []byte(key + "\x00")
		}
		if err := t.deleteRange(r); err != nil {
			return err
		}
	}
	return nil
}

// deletedRange draws a range to delete: mostly of a few keys, sometimes of all.
func (p *generator) deletedRange() stoat.Range {
	if p.chance(3) {
		return p.scanRange()
	}
	key := p.key()
	r := stoat.Range{Start: []byte(key), End: []byte(key[:1] + "\xff"), Reverse: p.chance(2)}
	if p.chance(2) {
		r.Limit = 1 + p.rng.IntN(5)
	}
	return r
}

// move moves or renames a bucket.
func (p *generator) move(root, from twin) error {
	to, err := p.pick(root)
	if err != nil || p.chance(2) {
		to = from
	}
	return errors.Join(err, from.move(p.name(), to, p.name()))
}

// disturb sometimes writes to a bucket that is being read.
func (p *generator) disturb(t twin) error {
	switch {
	case p.chance(8):
		return t.put(p.key(), p.value())
	case p.chance(8):
		return t.delete(p.key())
	case p.chance(16):
		return t.deleteRange(p.deletedRange())
	}
	return nil
}

// read does n random reads in a read-only transaction.
func (p *generator) read(root twin, n int) error {
	for range n {
		t, err := p.pick(root)
		if err == nil {
			err = p.readOne(t, func() error { return nil })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readOne does one random read and calls meanwhile between its steps.
func (p *generator) readOne(t twin, meanwhile func() error) error {
	switch op := p.rng.IntN(10); {
	case op < 1:
		return t.ttl(p.key())
	case op < 5:
		return t.get(p.key())
	case op < 7:
		return t.scan(p.scanRange(), meanwhile)
	case op < 9:
		return t.walk(p.rng, 1+p.rng.IntN(30), p.key, meanwhile)
	}
	return t.buckets()
}

func (p *generator) scanRange() stoat.Range {
	r := stoat.Range{Reverse: p.chance(2)}
	if !p.chance(3) {
		r.Start = []byte(p.key())
	}
	if !p.chance(3) {
		r.End = []byte(p.key())
	}
	if p.chance(3) {
		r = stoat.Prefix([]byte(p.key())[:1])
	}
	if p.chance(3) {
		r.Limit = 1 + p.rng.IntN(10)
	}
	return r
}
