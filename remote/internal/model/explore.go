package model

import "fmt"

// Result is what an exploration has found.
type Result struct {
	States    int      // how many different states were reached
	Cut       bool     // there were more, and the limit was reached
	Violation string   // what went wrong, or empty
	Trace     []string // the steps that lead there
}

// String returns the result in a sentence, and the steps of a violation in lines.
func (r Result) String() string {
	switch {
	case r.Violation != "":
		text := fmt.Sprintf("%s, after %d states:", r.Violation, r.States)
		for _, step := range r.Trace {
			text += "\n\t" + step
		}
		return text
	case r.Cut:
		return fmt.Sprintf("no violation in %d states, and there are more", r.States)
	}
	return fmt.Sprintf("no violation in all %d states", r.States)
}

// emit takes a step: the state that it leads to, what it does, and what it violates, if anything.
// The label is a function, because only those of a trace are needed.
type emit[S comparable] func(to S, label func() string, violation string)

// world is a system whose states can be explored.
type world[S comparable] interface {
	// steps emits each step that is possible in a state.
	steps(from S, emit emit[S])
}

// node is a state that was reached, and from where.
type node[S comparable] struct {
	state S
	from  int32
}

// explore visits the states that can be reached from start, the nearest first, until one step
// violates something or there are limit states.
func explore[S comparable](w world[S], start S, limit int) Result {
	seen := map[S]struct{}{start: {}}
	queue := []node[S]{{start, -1}}
	for at := 0; at < len(queue); at++ {
		from := queue[at].state
		var bad string
		var last func() string
		w.steps(from, func(to S, label func() string, violation string) {
			if bad != "" {
				return
			}
			if violation != "" {
				bad, last = violation, label
				return
			}
			if _, known := seen[to]; !known {
				seen[to] = struct{}{}
				queue = append(queue, node[S]{to, int32(at)})
			}
		})
		if bad != "" {
			trace := append(traceTo(w, queue, at), last())
			return Result{States: len(seen), Violation: bad, Trace: trace}
		}
		if len(seen) >= limit {
			return Result{States: len(seen), Cut: true}
		}
	}
	return Result{States: len(seen)}
}

// traceTo returns the labels of the steps from the start to a node.
func traceTo[S comparable](w world[S], queue []node[S], at int) []string {
	from := queue[at].from
	if from < 0 {
		return nil
	}
	trace := traceTo(w, queue, int(from))
	found := ""
	w.steps(queue[from].state, func(to S, label func() string, _ string) {
		if found == "" && to == queue[at].state {
			found = label()
		}
	})
	return append(trace, found)
}
