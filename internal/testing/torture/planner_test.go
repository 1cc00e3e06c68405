package torture

import (
	"fmt"
	"strings"

	"github.com/stoatdb/stoat/internal/testing/model"
)

// The number of readers and cursors of a plan.
const (
	heldReaders = 4
	heldCursors = 3
)

// planner draws random plans.
type planner struct {
	*generator
	plan plan
	inTx bool
}

// drawPlan draws a random plan of about n actions. The same seed gives the same plan.
func drawPlan(seed uint64, n int) plan {
	d := &planner{generator: newGenerator(seed, model.NewClock())}
	d.keys, d.names, d.long = 1<<(2+d.rng.IntN(6)), 2, false
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

func (d *planner) add(a action) { d.plan = append(d.plan, a) }

func (d *planner) end() {
	if d.inTx {
		d.add(action{verb: d.one("commit", "commit", "commit", "rollback")})
	}
	d.inTx = false
}

func (d *planner) one(of ...string) string { return of[d.rng.IntN(len(of))] }

// path draws a bucket, most often the root, that may not exist.
func (d *planner) path() string {
	var names []string
	for len(names) < 3 && d.chance(3) {
		names = append(names, d.name())
	}
	return strings.Join(names, "/")
}

// on adds an action on a random bucket.
func (d *planner) on(a action) {
	a.in = d.path()
	d.add(a)
}

func (d *planner) write() {
	switch op := d.rng.IntN(100); {
	case op < 3:
		to := strings.TrimPrefix(d.path()+"/"+d.name(), "/")
		d.on(action{verb: "move", key: d.name(), end: to})
	case op < 8:
		d.on(action{
			verb: "fill", key: fmt.Sprint("fill", d.rng.IntN(3)), value: d.payload(),
			n: 1 + d.rng.IntN(60),
		})
	default:
		d.on(d.writeAction())
	}
}

func (d *planner) read() {
	a := action{key: d.key()}
	switch op := d.rng.IntN(100); {
	case op < 20:
		a.verb = "get"
	case op < 26:
		a.verb = "has"
	case op < 42:
		a = rangeAction("scan", d.scanRange())
	case op < 48:
		a = rangeAction("keys", d.scanRange())
	case op < 52:
		a.verb, a.key = "buckets", ""
	case op < 55:
		a.verb, a.key = "sequence", ""
	case op < 61:
		d.add(action{verb: "hold", reader: 1 + d.rng.IntN(heldReaders)})
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
		d.add(d.moveCursor(d.rng.IntN(heldCursors)))
		return
	}
	if d.chance(3) {
		a.reader = 1 + d.rng.IntN(heldReaders)
	}
	d.on(a)
}

// walk draws a cursor and its moves. The open transaction may write in between.
func (d *planner) walk() {
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
		d.add(d.moveCursor(a.n))
	}
}

func (d *planner) moveCursor(cursor int) action {
	a := action{n: cursor}
	a.verb = d.one(
		"first", "last", "seek", "movenext", "movenext", "movenext", "moveprev", "moveprev", "cut",
	)
	if a.verb == "seek" {
		a.key = d.key()
	}
	return a
}

// upkeep draws an action that changes how data is stored, or a load.
func (d *planner) upkeep() {
	a := action{verb: d.one(
		"flush", "flush", "compact", "sync", "reopen", "check", "backup", "load",
	)}
	if a.verb == "load" {
		a.key, a.value, a.n = d.one("fill0", "load", "x"), d.payload(), 1+d.rng.IntN(60)
		a.reverse = d.chance(3)
	}
	d.add(a)
}
