package replicatest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// history is what happens to replicas. It is immutable.
type history struct {
	replicas int
	steps    []step
}

// action is a kind of step.
type action int

const (
	operate    action = iota // replica does an operation
	meet                     // replica and peer sync
	cut                      // the same, until the connection breaks after number bytes
	double                   // replica and peer sync over two connections at once
	jump                     // the clock of replica goes wrong, by number seconds
	restart                  // replica closes its database and opens it again
	backup                   // replica makes a backup, which replaces the one before
	restore                  // replica goes back to its backup, if it has one
	checkpoint               // replica makes a checkpoint, if it may and there is anything to cover
)

// step is something that happens. Which fields matter depends on the action.
type step struct {
	action        action
	replica, peer int
	operation     int
	seed          uint64 // of the operation's choices
	number        int
}

// Limits of random numbers.
const (
	cutMax  = 20_000 // bytes
	jumpMax = 2 * 3600
)

// newHistory makes a history.
func newHistory(random *rand.Rand, o Options, operations int) history {
	chances := []action{operate, operate, operate, operate, operate, operate, operate, operate,
		meet, meet, meet, meet, cut, cut, double, jump, restart, backup, restore,
		checkpoint}
	h := history{replicas: o.Replicas}
	for range o.Steps {
		s := step{action: chances[random.IntN(len(chances))], replica: random.IntN(o.Replicas)}
		s.peer = (s.replica + 1 + random.IntN(o.Replicas-1)) % o.Replicas
		s.seed = random.Uint64()
		if operations > 0 {
			s.operation = random.IntN(operations)
		}
		switch s.action {
		case cut:
			s.number = random.IntN(cutMax)
		case jump:
			s.number = random.IntN(2*jumpMax) - jumpMax
		}
		h.steps = append(h.steps, s)
	}
	return h
}

// text returns the steps, one a line.
func (h history) text(operations []string) string {
	var b strings.Builder
	for i, s := range h.steps {
		fmt.Fprintf(&b, "%3d. replica %d ", i+1, s.replica)
		switch s.action {
		case operate:
			b.WriteString("does " + operations[s.operation])
		case meet:
			fmt.Fprintf(&b, "meets %d", s.peer)
		case cut:
			fmt.Fprintf(&b, "meets %d until the connection breaks after %d bytes", s.peer, s.number)
		case double:
			fmt.Fprintf(&b, "meets %d over two connections at once", s.peer)
		case jump:
			fmt.Fprintf(&b, "has a clock that is wrong by %v", time.Duration(s.number)*time.Second)
		case restart:
			b.WriteString("restarts")
		case backup:
			b.WriteString("makes a backup")
		case restore:
			b.WriteString("is restored from its backup")
		case checkpoint:
			b.WriteString("makes a checkpoint")
		}
		b.WriteString("\n")
	}
	return b.String() + "     and all come together\n"
}
