package replica

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Status is what a replica has of a space, what it lacks, and what keeps it from having more. It
// encodes as JSON.
type Status struct {
	Space  SpaceID `json:"space"`
	Name   string  `json:"name"`
	Heads  []Head  `json:"heads"`
	Unsent uint64  `json:"unsent"` // own entries that are not sealed, and so have not left
	// Ahead is how far the newest own entry is ahead of the clock here, or of that of the last peer
	// if that shows less. It is 0 up to five minutes: more, and what this device writes waits at
	// others.
	Ahead time.Duration `json:"ahead,omitempty"`
	// Waiting is what arrived and cannot be merged yet, and Missing the logs that it waits for.
	Waiting []Waiting `json:"waiting"`
	Missing []Missing `json:"missing"`
	// Ended is what is not valid in logs that end before it.
	Ended []Waiting `json:"ended"`
	// Refused is how many times something was refused since the space was opened, and Refusals the
	// last of these: those of devices that hold a grant before those of others.
	Refused  uint64    `json:"refused"`
	Refusals []Refusal `json:"refusals"`
	// Void is the number of entries that do not count, all of them or a part: see [Space.Void].
	Void uint64 `json:"void"`
	// Withheld are the collections of which content is not here, by name.
	Withheld []Withheld `json:"withheld"`
	// Checkpoints is the number of checkpoints that count, one after the other. Mismatch says that
	// the last one does not have the root of the state here: see [Space.Prune].
	Checkpoints uint64 `json:"checkpoints"`
	Mismatch    bool   `json:"mismatch"`
	// Covered is the number of entries that the last checkpoint covers. Pruned says that entries
	// which a checkpoint covers are gone here, or never were here: the replica started from it.
	Covered uint64 `json:"covered"`
	Pruned  bool   `json:"pruned"`
	// Start is how far the replica is that starts from a checkpoint, and nil for others.
	Start *Start `json:"start,omitempty"`
	// Split are devices that go by another checkpoint than this replica: the two will not agree by
	// themselves. It takes a log that forks when a checkpoint is made, devices that make checkpoints
	// without knowing of each other, or a device that cheats. Choose which side to keep. On each
	// replica of the other side, sync with one of that side with [SyncOptions.FromCheckpoint]: it
	// goes over, and issues again what it wrote meanwhile. If the error is ErrPruned, join the space
	// again from there in a new database, and store there what only the old one has.
	Split []DeviceID `json:"split"`
	// Peers are the devices with which the replica has sessions now.
	Peers []Peer `json:"peers"`
	// Failures are of devices with which there is no session, as the last one could not go on, since
	// the space was opened: of those that hold a grant before others.
	Failures []Failure `json:"failures"`
}

// Missing is a log with entries that others have and this replica lacks.
type Missing struct {
	Log     LogID      `json:"log"`
	Have    uint64     `json:"have"`    // entries that this replica has
	Entries uint64     `json:"entries"` // that the log has at least
	SeenBy  []DeviceID `json:"seenBy"`  // devices that wrote something after them
}

// Withheld is a collection of which a replica lacks content: it has who changed it and when, and
// not what.
type Withheld struct {
	Collection string `json:"collection"`
	Logs       int    `json:"logs"` // in how many logs content is missing
	// Checkpoint says that the state at the last checkpoint is missing, too.
	Checkpoint bool `json:"checkpoint,omitempty"`
	// Wanted says that the replica holds the collection, and its device may read it: it takes what
	// is missing from the next peer that has it.
	Wanted bool `json:"wanted"`
}

// Peer is a device with which a replica has a session.
type Peer struct {
	Device DeviceID  `json:"device"`
	Since  time.Time `json:"since"`
}

// Status returns what the replica has, lacks and waits for. The cost grows with the number of logs,
// not of entries.
func (s *Space) Status(tx *stoat.Tx) (*Status, error) {
	st := &Status{Space: s.ID(), Name: s.name}
	s.mu.Lock()
	st.Refused, st.Refusals = s.refused, s.refusals.list()
	st.Peers = slices.Collect(maps.Values(s.peers))
	st.Failures = s.failures.list()
	s.mu.Unlock()
	slices.SortFunc(st.Peers, func(a, b Peer) int { return a.Since.Compare(b.Since) })
	var err error
	if st.Waiting, err = s.Waiting(tx); err != nil {
		return nil, err
	}
	if st.Ended, err = s.Ended(tx); err != nil {
		return nil, err
	}
	if st.Heads, err = s.Heads(tx); err != nil {
		return nil, err
	}
	for _, h := range st.Heads {
		if h.Own {
			st.Unsent = h.Entries - h.Sealed
		}
	}
	st.Missing = missingFor(st.Waiting, st.Heads)
	t, err := s.in(tx)
	if err == nil {
		st.Ahead, err = t.aheadStatus()
	}
	if err == nil {
		st.Void, err = t.voidCount()
	}
	if err == nil {
		var acts uint64
		acts, err = t.branchCount()
		st.Void += acts
	}
	if err == nil {
		st.Withheld, err = t.withheld()
	}
	if err == nil {
		st.Checkpoints, st.Mismatch, err = t.checkpointStatus()
	}
	if err == nil {
		st.Covered, st.Pruned, err = t.coveredStatus()
	}
	if err == nil {
		st.Start, err = t.startStatus()
	}
	if err == nil {
		st.Split, err = t.split()
	}
	return st, wrap(s.name, err)
}

// coveredStatus returns how many entries the last checkpoint covers, and whether some that a
// checkpoint covers may be missing.
func (t *txn) coveredStatus() (covered uint64, pruned bool, err error) {
	hz, err := t.horizonOf()
	if err != nil || hz == nil {
		return 0, false, err
	}
	for _, n := range hz.covers {
		covered += n
	}
	err = t.unpruned()
	if pruned = errors.Is(err, ErrPruned); pruned {
		err = nil
	}
	return covered, pruned, err
}

// missingFor returns the logs that entries wait for.
func missingFor(waiting []Waiting, heads []Head) []Missing {
	known := map[LogID]Head{}
	for _, h := range heads {
		known[h.Log] = h
	}
	logs := map[LogID]*Missing{}
	for _, w := range waiting {
		if w.For == nil {
			continue
		}
		m := logs[w.For.Log]
		if m == nil {
			m = &Missing{Log: w.For.Log, Have: known[w.For.Log].Entries}
			logs[w.For.Log] = m
		}
		m.Entries = max(m.Entries, w.For.Seq+1)
		if h, ok := known[w.Log]; ok && !slices.Contains(m.SeenBy, h.Device) {
			m.SeenBy = append(m.SeenBy, h.Device)
		}
	}
	var all []Missing
	for _, w := range waiting { // in their order
		if w.For != nil && logs[w.For.Log] != nil {
			all = append(all, *logs[w.For.Log])
			delete(logs, w.For.Log)
		}
	}
	return all
}

// meet notes that a session with a device has begun.
func (s *Space) meet(session uint64, device DeviceID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers == nil {
		s.peers = map[uint64]Peer{}
	}
	s.peers[session] = Peer{device, s.now()}
	s.forgetFailure(device)
}

// part notes that a session has ended.
func (s *Space) part(session uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.peers, session)
	s.chronicle.awaited.Store(false) // another session may say so again
}

// Void is an entry that does not count, all of it or a part.
type Void struct {
	EntryID
	Device DeviceID  `json:"device"` // its author
	Time   time.Time `json:"time"`   // by the clock of its author
	// Collections are those about which the entry does not count.
	Collections []string `json:"collections"`
	// Act is what the entry would decide, as in "grants write to" and a device; empty for data.
	Act    string `json:"act,omitempty"`
	Reason string `json:"reason"`
	// Repeated says that all of it counts elsewhere: it was adopted, or repeats what counts. For an
	// act behind a fork, an equal grant holds or was made since, or what it revokes has ended.
	Repeated bool `json:"repeated"`
}

// Void returns an iterator over the entries that do not count, by log, and then the acts that
// copies of this database have made behind a fork. [Space.Adopt] issues them again. An error ends
// the loop.
func (s *Space) Void(tx *stoat.Tx) iter.Seq2[*Void, error] {
	return func(yield func(*Void, error) bool) {
		more := true
		t, err := s.in(tx)
		if err == nil {
			err = t.eachVoid(func(at spot, stored *voided) (bool, error) {
				v, err := t.describeVoid(at, stored)
				if err != nil {
					return false, fmt.Errorf("entry %d of log %d: %w", at.seq, at.log, err)
				}
				more = yield(v, nil)
				return more, nil
			})
		}
		if err == nil && more {
			err = t.voidBranchActs(func(v *Void) bool { return yield(v, nil) })
		}
		if err != nil {
			yield(nil, wrap(s.name, err))
		}
	}
}

// describeVoid returns a void entry in the form of the API.
func (t *txn) describeVoid(at spot, stored *voided) (*Void, error) {
	h, err := t.head(at.log)
	if err != nil {
		return nil, err
	}
	o, err := t.orphan(h, at.seq)
	if err != nil {
		return nil, err
	}
	v := &Void{EntryID: EntryID{LogID(h.id), at.seq}, Device: h.device,
		Time: o.entry.Time.Time(), Reason: stored.reason, Repeated: o.entry.Kind == entry.KindData}
	for i := range o.entry.Parts {
		part := &o.entry.Parts[i]
		if !stored.parts().has(i) {
			continue
		}
		if o.entry.Kind == entry.KindControl {
			v.Act = actText(o.entry)
			if h.voids(at.seq) {
				v.Repeated, err = t.actRepeated(h.device, o.entry)
			}
			return v, err
		}
		if part.Group != "" {
			v.Collections = append(v.Collections, part.Group)
		}
		repeated := stored.repeated.has(i)
		if !repeated {
			repeated, err = t.repeated(&o.origin, part)
		}
		v.Repeated = v.Repeated && repeated
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}
