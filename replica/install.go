package replica

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/chunk"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/hlc"
	"github.com/stoatdb/stoat/replica/internal/rights"
	"github.com/stoatdb/stoat/replica/internal/wire"
)

// installation makes the state of a checkpoint that of a replica, and the checkpoint its horizon.
// The replica is empty, or lacks entries that the checkpoint covers. What it has beyond the
// checkpoint stays, and is merged again; what is late of its own is issued again. All of it is one
// transaction: a crash leaves the replica as it was, and readers see all or nothing.
type installation struct {
	*start
	t       *txn
	session uint64
	before  *horizon
	next    *horizon
	logs    map[entry.Hash]*coveredLog
	acts    []*rights.Fact
	firsts  []chunk.Record
	recut   bool            // what entries have seen through a log has changed
	changed map[string]bool // late deletions: whether the checkpoint changed their records
}

// coveredLog is what a checkpoint says of a log.
type coveredLog struct {
	logRecord
	head    *head
	device  DeviceID
	branch  uint64 // of the database that began the log
	genesis []byte
	acts    map[uint64]*rights.Fact
	stored  map[uint64][]byte // the acts as they are sent
	other   bool              // what is here of the log is another branch
}

func (in *installation) run() error {
	t := in.t
	var err error
	if in.before, err = t.horizonOf(); err != nil {
		return err
	}
	in.next = &horizon{hash: in.hash, number: 1, covers: vector{}}
	if in.before != nil {
		in.next.number = in.before.number + 1
	}
	for _, step := range []func() error{t.readRights, t.replayMarked, in.readLogs, in.checkLogs,
		in.takeBranch, in.placeLogs, in.compareDeleted, in.settleOwn, in.forgetVoid, in.passGaps,
		in.replaceLogs, in.replaceActs, in.replaceStates, in.goOn} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// passGaps moves the gaps behind the checkpoint. Whether a collection is unfilled follows from what
// is taken: see place.
func (in *installation) passGaps() error { return in.t.passHorizon(in.next.covers) }

// readLogs reads the subtree of logs.
func (in *installation) readLogs() error {
	in.logs = map[entry.Hash]*coveredLog{}
	facts := map[entry.Head]*rights.Fact{}
	stored := map[entry.Head][]byte{}
	for _, f := range in.facts() {
		facts[f.At] = f
	}
	for _, p := range in.proven {
		for i := range p.Acts {
			stored[p.Acts[i].At] = p.Acts[i].Stored
		}
	}
	if len(in.trees) == 0 || in.act.Chunks[0].Collection != "" {
		return invalid("a checkpoint without logs")
	}
	return in.each(in.t, 0, func(r *chunk.Record) error {
		if len(r.Key) < 32 {
			return invalid("a log of a checkpoint has the key %x", r.Key)
		}
		id := entry.Hash(r.Key[:32])
		log, state := in.logs[id], bytes.Clone(r.State) // which is kept
		switch {
		case len(r.Key) == 32:
			log = &coveredLog{acts: map[uint64]*rights.Fact{}, stored: map[uint64][]byte{}}
			in.logs[id] = log
			return log.parse(state)
		case log == nil:
			return invalid("a checkpoint says nothing about the end of log %s", id)
		case len(r.Key) == 72:
			in.firsts = append(in.firsts, chunk.Record{Key: bytes.Clone(r.Key), State: state})
			return nil
		case len(r.Key) != 40:
			return invalid("a log of a checkpoint has the key %x", r.Key)
		}
		seq := binary.BigEndian.Uint64(r.Key[32:])
		if seq == 0 {
			return log.begin(in.t.space, id, state)
		}
		f := facts[entry.Head{Log: id, Seq: seq}]
		if f == nil || seq >= log.next || !bytes.Equal(stored[f.At], state) {
			return invalid("entry %d of log %s has no proof run", seq, id)
		}
		log.acts[seq], log.stored[seq] = f, state
		in.acts = append(in.acts, f)
		return nil
	})
}

// parse reads what a checkpoint says about a log, besides what its act does.
func (l *logRecord) parse(p []byte) error {
	r := wire.NewReader(p)
	*l = logRecord{next: r.Uvarint(), hash: r.Hash(), time: hlc.Time(r.Uint64()), late: r.Uvarint()}
	flag := r.Byte()
	if l.top = flag == 1; flag > 1 {
		r.Fail("a flag is %d", flag)
	}
	if err := r.End(); err != nil {
		return invalid("a log of a checkpoint: %w", err)
	}
	return nil
}

// begin takes the genesis entry of the log.
func (l *coveredLog) begin(s *Space, id entry.Hash, stored []byte) error {
	e, err := entry.Parse(stored)
	if err == nil && e.Hash(&entry.Place{Space: s.id}) != id {
		err = errors.New("it is of another log")
	}
	var g *entry.Genesis
	if err == nil {
		g, err = entry.ParseGenesis(e)
	}
	if err != nil {
		return invalid("the genesis entry of log %s: %w", id, err)
	}
	l.device, l.branch, l.genesis = g.Device, g.Branch, stored
	return nil
}

// errOtherBranch reports a replica that cannot start with a checkpoint.
var errOtherBranch = errors.New("what this replica has of a log is not what the checkpoint " +
	"covers: take all entries instead, from a replica that has them")

// checkLogs checks that the subtree of logs is that of the checkpoint's act, and that what is here
// of them is the same.
func (in *installation) checkLogs() error {
	t := in.t
	if len(in.logs) != len(in.act.Logs) {
		return invalid("a checkpoint says something about logs that it does not cover")
	}
	for i := range in.act.Logs {
		covers := &in.act.Logs[i]
		log := in.logs[covers.Log]
		if log == nil || log.next != covers.Count || log.hash != covers.Hash || log.genesis == nil ||
			log.time >= in.proven[0].Acts[0].Entry.Time { // the checkpoint has seen it
			return invalid("a checkpoint says different things about log %s", covers.Log)
		}
		number, known, err := t.logNumber(covers.Log)
		if err != nil || !known {
			if err != nil {
				return err
			}
			continue
		}
		h, err := t.head(number)
		if err != nil {
			return err
		}
		log.other = h.cut > 0 && h.next < log.next
		if h.next < log.next || in.before != nil && in.before.covers[number] >= log.next {
			continue
		}
		hash, err := t.hashOf(number, log.next-1)
		if err == nil && hash != log.hash {
			err = errOtherBranch
			if log.other = h.voids(log.next - 1); log.other {
				err = t.dropBranch(h, log.next)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placeLogs gives all logs numbers, and the new horizon its place.
func (in *installation) placeLogs() error {
	t := in.t
	place := func(id entry.Hash, device DeviceID) (*head, error) {
		number, known, err := t.logNumber(id)
		if err != nil {
			return nil, err
		}
		if known {
			return t.head(number)
		}
		return t.addLog(id, device)
	}
	for i := range in.act.Logs {
		id := in.act.Logs[i].Log
		log := in.logs[id]
		var err error
		if log.head, err = place(id, log.device); err != nil {
			return err
		}
		in.next.covers[log.head.number] = log.next
		if log.top {
			at := spot{log.head.number, log.next - 1}
			in.next.tops = append(in.next.tops, top{at, log.time})
		}
	}
	slices.SortFunc(in.next.tops, func(a, b top) int { return a.spot.compare(b.spot) })
	if log := in.logs[in.at.Log]; log != nil {
		in.next.at = spot{log.head.number, in.at.Seq}
		return nil
	}
	author, err := place(in.at.Log, in.proven[0].Device)
	if err != nil {
		return err
	}
	in.next.at = spot{author.number, in.at.Seq}
	if author.next > 0 {
		return nil
	}
	genesis := in.evidence[0].Genesis
	e, err := entry.Parse(genesis)
	if err == nil {
		err = t.append(author, e, genesis, author.id)
	}
	return err
}

// sortFacts sorts acts by time: what they follow comes before them.
func sortFacts(all []*rights.Fact) {
	slices.SortFunc(all, func(a, b *rights.Fact) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.At.Log[:], b.At.Log[:]))
	})
}

// replaceActs makes the acts that the checkpoint covers those before all others.
func (in *installation) replaceActs() error {
	t := in.t
	var beyond []spot
	err := t.eachAct(func(at spot) error {
		if at.seq >= in.next.covers[at.log] {
			beyond = append(beyond, at)
		}
		return nil
	})
	if err != nil {
		return err
	}
	sortFacts(in.acts)
	var all []spot
	for _, f := range in.acts {
		all = append(all, spot{in.logs[f.At.Log].head.number, f.At.Seq})
	}
	all = append(all, beyond...)
	version, err := t.nextRights(uint64(len(all)) + 1)
	if err == nil {
		err = t.meta.DeleteRange(stoat.Prefix([]byte(prefixAct)))
	}
	for _, at := range all {
		if err != nil {
			return err
		}
		err = t.putAct(version, at)
		version++
	}
	if err == nil {
		err = in.replaceFirsts()
	}
	t.rightsView = nil
	return err
}

// replaceFirsts stores which covered entries were the first of their logs to have seen grants.
func (in *installation) replaceFirsts() error {
	t := in.t
	known, err := t.firsts()
	if err != nil {
		return err
	}
	for k, first := range known {
		if first < in.next.covers[k.log] {
			if err := t.meta.Delete(k.seenKey()); err != nil {
				return err
			}
		}
	}
	for i := range in.firsts {
		key := in.firsts[i].Key
		by, of := in.logs[entry.Hash(key[:32])], in.logs[entry.Hash(key[40:])]
		r := wire.NewReader(in.firsts[i].State)
		first := r.Uvarint()
		if err := r.End(); err != nil || by == nil || of == nil || first >= of.next {
			return invalid("a checkpoint says that a log has seen a grant, which it does not cover")
		}
		k := firstKey{of.head.number, by.head.number, binary.BigEndian.Uint64(key[32:])}
		if err := t.meta.Put(k.seenKey(), binary.AppendUvarint(nil, first)); err != nil {
			return err
		}
	}
	return nil
}
