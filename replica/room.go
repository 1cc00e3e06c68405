package replica

import "github.com/stoatdb/stoat/replica/internal/entry"

// Limits of a room: bytes of a log and in all, and runs, because each is verified again when others
// arrive.
const (
	roomLog   = 4 << 20
	roomSpace = 64 << 20
	roomRuns  = 1024
)

// room keeps the runs that wait for others. What does not fit is dropped: it arrives again with a
// later exchange.
type room struct {
	runs []waiting
	size int
	logs map[entry.Hash]int
}

// waiting is a run with the reason why it waits.
type waiting struct {
	run    *run
	reason error
}

// add adds a run, unless there is no room for it.
func (r *room) add(run *run, reason error) {
	n := run.size()
	ofLog := r.logs[run.log]
	if len(r.runs) == roomRuns || r.size+n > roomSpace || ofLog > 0 && ofLog+n > roomLog {
		return
	}
	if r.logs == nil {
		r.logs = map[entry.Hash]int{}
	}
	r.runs = append(r.runs, waiting{run, reason})
	r.size += n
	r.logs[run.log] += n
}

// take returns the runs and leaves none.
func (r *room) take() []*run {
	var all []*run
	for _, w := range r.runs {
		all = append(all, w.run)
	}
	*r = room{}
	return all
}

// Waiting is entries from others that this replica has, and cannot merge yet.
type Waiting struct {
	Log         LogID
	First, Last uint64 // the numbers of the entries
	Reason      error
}

// Waiting returns what waits, and for what.
func (s *Space) Waiting() []Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Waiting
	for _, w := range s.room.runs {
		last := w.run.first + uint64(len(w.run.entries)) - 1
		all = append(all, Waiting{LogID(w.run.log), w.run.first, last, w.reason})
	}
	return all
}
