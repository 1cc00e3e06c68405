package linear

import (
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

const (
	keys  = 3 // in each bucket
	rooms = 3 // buckets; the first is the root, which always exists
)

// action is what a step of a transaction does.
type action uint8

const (
	get    action = iota
	put           // value
	remove        //
	swap          // old for value
	erase         // old
	extend        // appends to the existing value
	create        // the bucket
	drop          // the bucket
)

// names is immutable.
var names = [...]string{"get", "put", "remove", "swap", "erase", "extend", "create", "drop"}

// step is one operation within a transaction.
type step struct {
	action     action
	room, key  int
	value, old string
}

// answer is what a step has returned.
type answer struct {
	value string // of get and extend: the previous value; "" if absent
	done  bool   // swap, erase, create and drop had something to do
	lost  bool   // the bucket does not exist
}

// transaction is what a client does atomically.
type transaction struct {
	steps []step
	abort bool // rolled back at the end
}

// state is a state of the database. The zero value is the empty database.
type state struct {
	exists [rooms]bool // except the root, which is never asked for
	values [rooms][keys]string
}

// apply does one step.
func (s *state) apply(t step) answer {
	switch {
	case t.action == create:
		done := !s.exists[t.room]
		s.exists[t.room] = true
		return answer{done: done}
	case t.action == drop:
		done := s.exists[t.room]
		s.exists[t.room], s.values[t.room] = false, [keys]string{}
		return answer{done: done}
	case t.room > 0 && !s.exists[t.room]:
		return answer{lost: true}
	}
	v := &s.values[t.room][t.key]
	before := *v
	switch t.action {
	case get:
		return answer{value: before}
	case put:
		*v = t.value
	case remove:
		*v = ""
	case extend:
		*v += t.value
		return answer{value: before}
	case swap, erase:
		if before == "" || before != t.old {
			return answer{}
		}
		*v = t.value // empty for erase
		return answer{done: true}
	}
	return answer{}
}

// run does a whole transaction, and returns the state after it and the answers.
func (s state) run(t transaction) (after state, answers []answer) {
	after = s
	for _, step := range t.steps {
		answers = append(answers, after.apply(step))
	}
	if t.abort {
		after = s
	}
	return after, answers
}

// model returns the checker's model. If every transaction is on one key of the root, the keys may
// be checked separately.
func model(apart bool) porcupine.Model {
	m := porcupine.Model{
		Init: func() any { return state{} },
		Step: func(before, input, output any) (bool, any) {
			after, want := before.(state).run(input.(transaction))
			got := output.([]answer)
			if len(got) != len(want) {
				return false, before
			}
			for i := range want {
				if got[i] != want[i] {
					return false, before
				}
			}
			return true, after
		},
		DescribeOperation: describe,
		DescribeState:     func(s any) string { return fmt.Sprintf("%v", s.(state).values) },
	}
	if apart {
		m.Partition = partition
	}
	return m
}

func partition(history []porcupine.Operation) [][]porcupine.Operation {
	parts := make([][]porcupine.Operation, keys)
	for _, o := range history {
		key := o.Input.(transaction).steps[0].key
		parts[key] = append(parts[key], o)
	}
	return parts
}

// describe returns a transaction as text, for the picture of a history.
func describe(input, output any) string {
	var b strings.Builder
	t, answers := input.(transaction), output.([]answer)
	for i, s := range t.steps {
		fmt.Fprintf(&b, "%s %d/%d %s %s", names[s.action], s.room, s.key, s.old, s.value)
		if i < len(answers) {
			fmt.Fprintf(&b, " → %+v; ", answers[i])
		}
	}
	if t.abort {
		b.WriteString("rolled back")
	}
	return b.String()
}
