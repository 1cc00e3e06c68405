package superversion

// How far a [merge] may go on without comparing keys.

// yieldsRest reports whether the merge yields all that lies ahead of in, the only live input. It
// does if the bounds are those of the only bucket; then not even the keys are looked at.
func (m *merge) yieldsRest(in *input) bool {
	if in.rest == restUnknown {
		in.rest = restCut
		if in.newer == 0 && m.within(in.end(m.direction)) {
			in.rest = restYielded
		}
	}
	return in.rest == restYielded
}

// freeWindow returns how many entries lie ahead in the winner's leaf or window, if all of them are
// free, or else 0.
func (m *merge) freeWindow() int {
	ahead := m.winner.ahead(m.direction)
	if !m.isFree(m.winner.keyAhead(ahead, m.direction)) {
		return 0
	}
	return ahead
}

// searchFree returns how many of the entries ahead in the winner's leaf or window are free, if not
// all are. A short scan has few, so it looks at the next one, the second, the fourth and so on, and
// then bisects between the last two.
func (m *merge) searchFree() int {
	ahead := m.winner.ahead(m.direction)
	end := 1
	for end <= ahead && m.isFree(m.winner.keyAhead(end, m.direction)) {
		end *= 2
	}
	free := end / 2
	for end = min(end, ahead+1); end-free > 1; {
		if mid := (free + end) / 2; m.isFree(m.winner.keyAhead(mid, m.direction)) {
			free = mid
		} else {
			end = mid
		}
	}
	return free
}

// isFree reports whether the winner reaches key, which is ahead in its leaf or window, before the
// bounds end, before the runner-up, and before anything that is deleted.
func (m *merge) isFree(key []byte) bool {
	return m.within(key) && (m.winner.newer == 0 || m.winner.gap.Contains(key)) &&
		(m.runnerUp == nil || m.ordered(key, m.runnerUp.key))
}
