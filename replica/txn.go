package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Where a space is stored: the bucket of its name in the bucket "replica" of the root, and in it
//
//	"id"                       the id of the space
//	"description"              as in docs/replica-format.md; missing until it is known
//	"summary"                  what every commit asks: see summary.go
//	"log" u32                  the head of the log of that number: see head
//	"number" id                u32 number of a log
//	"unseen" u32               a log that grew since the own one did
//	"owed"                     what others have written since the own log named it: see ack.go
//	"settle" u32               a log of the own device that needs what settle does
//	"proof" u32                the fork proof that cuts a log
//	"moved" id u64             where an own act was made again: reissueact.go
//	"branch" id u64 hash       an act that a copy wrote behind the cut of an own log: branchacts.go
//	"tail" u32                 a log with entries that are not in the touch index
//	"void" u32 u64             what of an entry of a log does not count: see void.go
//	"count void"               u64 number of these
//	"repeat" …                 a part of an entry with an origin: see repeats.go
//	"reissued" …               a part that counts in a repeat, behind a checkpoint
//	"replay" u32 key           within a transaction: a record that it replays when it commits
//	"revert" u32 key           within Revert: a record that it looks at
//	"context" u32 u64          of a log and a seq, if the entry has a context: see frontier
//	"vector" u32 u64           of a log and some such seqs: pairs of uvarints, log and length
//	"act" u64                  uvarints, log and seq of a control entry, in the order of arrival
//	"seen" u32 u64 u32         of a grant and a log: uvarint, the first entry that has seen the grant
//	"horizon"                  the checkpoint that the replica goes by: see horizon
//	"horizons" u64             of a number: the horizon that it was; none once entries were pruned
//	"decided" hash             a checkpoint that the replica goes by, or has gone by
//	"candidate" u32 u64        a log and a seq: a checkpoint that may be decided, with its votes
//	"verified"                 the hash of the last checkpoint whose root was that of the state
//	"mismatch"                 the hash of the last one whose root was not
//	"start"                    the proof run of the checkpoint to start with: see start.go
//	"seal" u32 u64             of a log and a seq: the signature
//	"evidence" u32 u64         of a log and a seq: the proof run that begins there: see proven.go
//	"collection" name          u32 number of a collection
//	"fields" u32               the names of the fields of a collection, by number: texts
//	"names" u32                pairs of texts: a name that a field has had, and its first one
//	"type" u32                 the fields of the type that the records were last made for
//	"conflict" u32 key         a record with concurrent values
//	"parked"                   u64 size of all entries that wait
//	"wait" u32                 what a log waits for: see park.go
//	"needed" id u32            a log that waits for an entry of the log of this id
//	"ahead" u64 u32            a log that waits for a time
//	"position"                 the last batch of arrivals: uvarint its number, uvarint the last
//	                           arrival in it, digest
//	"batch" u16                the same, of the last 4096 batches
//	"recent" u64               of an arrival: the u32 number of the log that grew
//	"arrival" u32              u64 the last arrival of a log
//	"token" database           how far this replica has what another one has: as "position", with
//	                           the arrival 0
//	"holds"                    the collections that the replica holds: texts; missing: all
//	"withheld" …               what is missing of collections: see withheld.go
//	bucket "entries"           u32 log, u64 seq → the entry as it is kept: see kept.go
//	bucket "states"            u32 collection, key → the sidecar of a record
//	bucket "touches"           the touch index: see touch.go
//	bucket "base"              the states at the checkpoint: see base.go
//	bucket "staged"            the chunks of the checkpoint to start with: see start.go
//	bucket "pieces"            what is not whole yet of offers and chunks: see slices.go
//
// All numbers in keys are big-endian.
const (
	rootBucket    = "replica"
	entriesBucket = "entries"
	statesBucket  = "states"
	touchesBucket = "touches"
	basesBucket   = "base"
	stagedBucket  = "staged"
	piecesBucket  = "pieces"

	keySpace         = "id"
	keyDescription   = "description"
	keySummary       = "summary"
	keyVoidCount     = "count void"
	keyOwed          = "owed"
	prefixLog        = "log"
	prefixNumber     = "number"
	prefixUnseen     = "unseen"
	prefixSettle     = "settle"
	prefixProof      = "proof"
	prefixBranch     = "branch"
	prefixMoved      = "moved"
	prefixTail       = "tail"
	prefixVoid       = "void"
	prefixRepeat     = "repeat"
	prefixReissued   = "reissued"
	prefixReplay     = "replay"
	prefixRevert     = "revert"
	prefixContext    = "context"
	prefixVector     = "vector"
	prefixAct        = "act"
	prefixSeen       = "seen"
	keyHorizon       = "horizon"
	prefixHorizons   = "horizons"
	keyVerified      = "verified"
	keyMismatch      = "mismatch"
	keyStart         = "start"
	prefixCandidate  = "candidate"
	prefixDecided    = "decided"
	prefixSeal       = "seal"
	prefixEvidence   = "evidence"
	prefixCollection = "collection"
	prefixFields     = "fields"
	prefixNames      = "names"
	prefixType       = "type"
	prefixConflict   = "conflict"
	keyPosition      = "position"
	keyParked        = "parked"
	prefixRecent     = "recent"
	prefixArrival    = "arrival"
	prefixWait       = "wait"
	prefixNeeded     = "needed"
	prefixAhead      = "ahead"
	prefixBatch      = "batch"
	prefixToken      = "token"
	keyHolds         = "holds"
	prefixWithheld   = "withheld"
)

// txn is a space in a transaction. It is not safe for concurrent use.
type txn struct {
	space   *Space
	tx      *stoat.Tx
	meta    *stoat.Bucket
	entries *stoat.Bucket
	states  *stoat.Bucket

	seldom map[string]*stoat.Bucket // buckets that most transactions do without, once they are open

	summary   summary // once it is read
	factsRead bool

	heads     map[uint32]*head
	unsaved   []uint32 // logs whose heads are stored later, with duplicates
	numbers   map[entry.Hash]uint32
	frontiers map[spot]*frontier
	unseen    map[sought]uint64 // entries of a log, which have not seen the one that is sought
	hashed    hashed            // the hash that was last computed

	unseenNoted uint32 // the log that was last noted as unseen; 0: none
	voids       uint64 // the number of entries with parts that do not count, once it is read
	voidsRead   bool
	repeats     bool // there may be entries with an origin
	repeatsRead bool
	rebasing    bool            // see rebase
	settling    *settledRepeats // while a state at a checkpoint is computed: what counts there

	collections map[string]uint32 // the numbers of collections
	names       map[uint32]string // of collections
	collected   collected
	last        *inside // of collected
	assigned    bool    // a collection has got a number

	pending    *pending // local changes
	deferred   deferred // changes by others
	growth     *growth  // of logs; nil if none grows
	issued     int      // own entries that were begun
	rightsView *rightsView
	notes      actNotes
	replays    bool   // records are marked, and replayed at commit
	key        []byte // buffer
	keyRoom    [64]byte
	value      []byte // buffer
	sidecar    []byte // buffer
	scratch    *scratch

	rightsBase *uint64 // if the transaction has changed the rights: their version before
	publishes  bool    // publishRights is called before the commit

	holdings *holdings         // nil: not read
	lacking  map[string]uint32 // what is missing, if the transaction has changed that; else nil
	arrived  arrivals

	horizon     *horizon // nil: there was no checkpoint
	horizonRead bool
	undecided   map[spot]*candidate // nil: not read
}

// txnKey is the key under which a transaction keeps a txn.
type txnKey struct{ space *Space }

// in returns the space in a transaction.
func (s *Space) in(tx *stoat.Tx) (*txn, error) {
	t := stoat.Local(tx, txnKey{s}, func() *txn {
		t := &txn{space: s, tx: tx, heads: map[uint32]*head{}}
		t.key = t.keyRoom[:0]
		return t
	})
	if t.meta != nil || t.refer(s.buckets.Load()) {
		return t, nil
	}
	root, err := tx.Bucket([]byte(rootBucket))
	if err == nil {
		t.meta, err = root.Bucket([]byte(s.name))
	}
	if errors.Is(err, stoat.ErrBucketNotFound) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	if t.entries, err = t.meta.Bucket([]byte(entriesBucket)); err == nil {
		t.states, err = t.meta.Bucket([]byte(statesBucket))
	}
	if err == nil {
		s.buckets.Store(&spaceBuckets{t.meta.Ref(), t.entries.Ref(), t.states.Ref()})
	}
	return t, err
}

// spaceBuckets are the buckets of a space that every transaction opens. It is immutable.
type spaceBuckets struct{ meta, entries, states stoat.Ref }

// refer sets the buckets of the space from references, and reports whether it could.
func (t *txn) refer(r *spaceBuckets) bool {
	if r == nil {
		return false
	}
	meta, entries, states := t.tx.Refer(r.meta), t.tx.Refer(r.entries), t.tx.Refer(r.states)
	if meta == nil || entries == nil || states == nil {
		return false
	}
	t.meta, t.entries, t.states = meta, entries, states
	return true
}

// bucket returns a bucket that most transactions do without, so they do not open it.
func (t *txn) bucket(name string) (*stoat.Bucket, error) {
	if b := t.seldom[name]; b != nil {
		return b, nil
	}
	b, err := t.meta.Bucket([]byte(name))
	if err != nil {
		return nil, err
	}
	if t.seldom == nil {
		t.seldom = map[string]*stoat.Bucket{}
	}
	t.seldom[name] = b
	return b, nil
}

// touches returns the touch index.
func (t *txn) touches() (*stoat.Bucket, error) { return t.bucket(touchesBucket) }

// bases returns the states at the checkpoint.
func (t *txn) bases() (*stoat.Bucket, error) { return t.bucket(basesBucket) }

// keyed appends a prefix and numbers of 32 bits to a key.
func keyed(dst []byte, prefix string, number uint32) []byte {
	return binary.BigEndian.AppendUint32(append(dst, prefix...), number)
}

// entryKey appends the key of an entry of a log.
func entryKey(dst []byte, prefix string, log uint32, seq uint64) []byte {
	return binary.BigEndian.AppendUint64(keyed(dst, prefix, log), seq)
}

// number returns a number of 32 bits that is stored under a key.
func (t *txn) number(key string) (uint32, error) {
	p, err := t.meta.Get([]byte(key))
	if err != nil {
		return 0, err
	}
	if len(p) != 4 {
		return 0, fmt.Errorf("%q has %d bytes instead of 4: %w", key, len(p), stoat.ErrCorrupt)
	}
	return binary.BigEndian.Uint32(p), nil
}

func (t *txn) putNumber(key string, n uint32) error {
	return t.meta.Put([]byte(key), binary.BigEndian.AppendUint32(nil, n))
}

// ownHead returns the head of the log that this replica writes.
func (t *txn) ownHead() (*head, error) {
	n, err := t.ownNumber()
	if err != nil {
		return nil, err
	}
	return t.head(n)
}

// logNumber returns the number of a log; ok is false if it is not known.
func (t *txn) logNumber(id entry.Hash) (number uint32, ok bool, err error) {
	if n, ok := t.numbers[id]; ok {
		return n, true, nil
	}
	p, err := t.meta.Get(append([]byte(prefixNumber), id[:]...))
	if missing(err) {
		return 0, false, nil
	}
	if err == nil && len(p) != 4 {
		err = fmt.Errorf("the number of log %s: %w", id, stoat.ErrCorrupt)
	}
	if err != nil {
		return 0, false, err
	}
	number = binary.BigEndian.Uint32(p)
	if t.numbers == nil {
		t.numbers = map[entry.Hash]uint32{}
	}
	t.numbers[id] = number
	return number, true, nil
}

// addLog gives a log a number. Its head is empty until the genesis entry is appended.
func (t *txn) addLog(id entry.Hash, device DeviceID) (*head, error) {
	n, err := t.meta.NextSequence()
	if err != nil {
		return nil, err
	}
	h := &head{number: uint32(n), id: id, device: device}
	key := append([]byte(prefixNumber), id[:]...)
	return h, t.meta.Put(key, binary.BigEndian.AppendUint32(nil, h.number))
}

// append stores an entry, given also as it is sent, as the next one of a log.
func (t *txn) append(h *head, e *entry.Entry, sent []byte, hash entry.Hash) error {
	if err := t.readRights(); err != nil {
		return err
	}
	value, err := t.appendKept(slices.Grow(t.value[:0], len(sent)+keptRoom), h, e, sent, &hash)
	if err != nil {
		return err
	}
	t.value = value
	t.key = entryKey(t.key[:0], "", h.number, h.next)
	if err := t.entries.Put(t.key, value); err != nil {
		return err
	}
	seq := h.next
	if h.touched == seq {
		if err := t.meta.Put(keyed(nil, prefixTail, h.number), nil); err != nil {
			return err
		}
	}
	f, err := t.frontierOf(h, e)
	if err != nil {
		return err
	}
	h.next, h.hash, h.time = seq+1, hash, e.Time
	if f != nil {
		h.contexts = h.next
	}
	err = t.putHead(h)
	if err == nil && f != nil {
		err = t.keepFrontier(f)
	}
	if err != nil {
		return err
	}
	if err := t.judge(h, seq, hash, e); err != nil {
		return err
	}
	switch e.Kind {
	case entry.KindGenesis:
		return nil
	case entry.KindControl:
		err = t.noteAct(h, seq, e)
	case entry.KindData:
		err = t.judgeLate(h, seq, e)
	}
	if err != nil {
		return err
	}
	return t.noteVote(h, seq)
}
