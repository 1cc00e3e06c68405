package torture

import (
	"fmt"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/model"
)

// How many readers and cursors a plan uses at once.
const (
	heldReaders = 4
	heldCursors = 3
)

// drawer draws random plans.
type drawer struct {
	*player
	plan  plan
	inTx  bool
	scale int // of values
}

// drawPlan returns a random plan of about n actions. The same seed makes the same plan.
func drawPlan(seed uint64, n int) plan {
	d := &drawer{player: newPlayer(seed, model.NewClock())}
	d.keys = 1 << (2 + d.rng.IntN(6))
	d.scale = 1 << d.rng.IntN(4)
	for len(d.plan) < n {
		switch op := d.rng.IntN(100); {
		case d.inTx && op < 10:
			d.end()
		case !d.inTx && op < 14:
			d.inTx = true
			d.add(action{verb: "begin"})
		case op < 60:
			d.write()
		case op < 92:
			d.read()
		case op < 95:
			d.add(action{verb: "wait", n: 1 + d.rng.IntN(30)})
		case !d.inTx:
			d.upkeep()
		}
	}
	d.end()
	d.add(action{verb: "reopen"})
	return d.plan
}

func (d *drawer) add(a action) { d.plan = append(d.plan, a) }

func (d *drawer) end() {
	if d.inTx {
		d.add(action{verb: d.one("commit", "commit", "commit", "rollback")})
	}
	d.inTx = false
}

func (d *drawer) one(of ...string) string { return of[d.rng.IntN(len(of))] }

// path returns a bucket, most often the root, that may not exist.
func (d *drawer) path() string {
	var names []string
	for len(names) < 3 && d.chance(3) {
		names = append(names, d.one("a", "b"))
	}
	return strings.Join(names, "/")
}

func (d *drawer) payload() payload {
	p := payload{seed: d.rng.IntN(1000)}
	switch n := d.rng.IntN(100); {
	case n < 6:
		return payload{}
	case n < 40:
		p.shape, p.size = "event", d.rng.IntN(200)
		return p
	case n < 65:
		p.size = 1 + d.rng.IntN(30)
	case n < 97:
		p.size = 30 + d.rng.IntN(60*d.scale)
	default:
		p.size = 500 + d.rng.IntN(1500*d.scale)
	}
	p.shape = d.one("text", "noise")
	return p
}

// ranged returns the action with a range to scan or delete.
func (d *drawer) ranged(verb string, r stoat.Range) action {
	return action{
		verb: verb, in: d.path(), key: string(r.Start), end: string(r.End), n: r.Limit,
		reverse: r.Reverse,
	}
}

func (d *drawer) write() {
	a := action{in: d.path(), key: d.key()}
	switch op := d.rng.IntN(100); {
	case op < 45:
		a.verb, a.value = "put", d.payload()
	case op < 53:
		a.verb, a.value, a.n = "expire", d.payload(), int(1+d.ttl()/time.Millisecond)
	case op < 63:
		a.verb = "delete"
	case op < 68:
		a = d.ranged("deleterange", d.deletedRange())
	case op < 74:
		a.verb, a.value, a.old = "swap", d.payload(), d.expected()
	case op < 78:
		a.verb, a.old = "remove", d.expected()
	case op < 86:
		a.verb, a.key = "create", d.one("a", "b")
	case op < 88:
		a.verb, a.key = "drop", d.one("a", "b")
	case op < 90:
		a.verb, a.key = "move", d.one("a", "b")
		a.end = strings.TrimPrefix(d.path()+"/"+d.one("a", "b"), "/")
	case op < 93:
		a.verb, a.key = "next", ""
	case op < 94:
		a.verb, a.key, a.n = "setsequence", "", d.rng.IntN(1000)
	default:
		a.verb, a.value, a.n = "fill", d.payload(), 1+d.rng.IntN(60)
		a.key = fmt.Sprint("fill", d.rng.IntN(3))
	}
	d.add(a)
}

func (d *drawer) expected() payload {
	switch d.rng.IntN(4) {
	case 0:
		return payload{shape: absent}
	case 1:
		return d.payload()
	}
	return payload{shape: current}
}

func (d *drawer) read() {
	a := action{in: d.path(), key: d.key()}
	switch op := d.rng.IntN(100); {
	case op < 20:
		a.verb = "get"
	case op < 26:
		a.verb = "has"
	case op < 42:
		a = d.ranged("scan", d.scanRange())
	case op < 48:
		a = d.ranged("keys", d.scanRange())
	case op < 52:
		a.verb, a.key = "buckets", ""
	case op < 55:
		a.verb, a.key = "sequence", ""
	case op < 61:
		a = action{verb: "hold", reader: 1 + d.rng.IntN(heldReaders)}
		d.add(a)
		return
	case op < 64:
		d.add(action{verb: "release", reader: 1 + d.rng.IntN(heldReaders)})
		return
	case op < 68:
		d.walk()
		return
	case op < 72:
		a.verb = "ttl"
	case op < 85:
		a.verb = "get"
	default:
		d.add(d.move(d.rng.IntN(heldCursors)))
		return
	}
	if d.chance(3) {
		a.reader = 1 + d.rng.IntN(heldReaders)
	}
	d.add(a)
}

// walk draws a cursor and how it moves, while the open transaction may write.
func (d *drawer) walk() {
	a := action{verb: "cursor", in: d.path(), n: d.rng.IntN(heldCursors)}
	if !d.inTx || d.chance(3) {
		a.reader = 1 + d.rng.IntN(heldReaders)
		d.add(action{verb: "hold", reader: a.reader})
	}
	d.add(a)
	for range 1 + d.rng.IntN(15) {
		if d.chance(8) {
			d.write()
		}
		d.add(d.move(a.n))
	}
}

func (d *drawer) move(cursor int) action {
	a := action{n: cursor}
	a.verb = d.one(
		"first", "last", "seek", "movenext", "movenext", "movenext", "moveprev", "moveprev", "cut",
	)
	if a.verb == "seek" {
		a.key = d.key()
	}
	return a
}

// upkeep changes how the data is stored, except that a load adds some.
func (d *drawer) upkeep() {
	a := action{verb: d.one(
		"flush", "flush", "compact", "sync", "reopen", "check", "backup", "load",
	)}
	if a.verb == "load" {
		a.key, a.value, a.n = d.one("fill0", "load", "x"), d.payload(), 1+d.rng.IntN(60)
		a.reverse = d.chance(3)
	}
	d.add(a)
}
