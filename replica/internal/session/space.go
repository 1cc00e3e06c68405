package session

import (
	"errors"
	"math"
	"time"

	"github.com/stoatdb/stoat/replica/internal/entry"
)

// Space is a replica of a space, as sessions need it. It is safe for concurrent use. All errors are
// of the replica's database, except where a method says otherwise; they end the session.
type Space interface {
	// ID returns the id of the space.
	ID() entry.Hash
	// Key returns the public key of the device that speaks for the replica.
	Key() [32]byte
	// Sign signs a message with the device's key.
	Sign(message []byte) [64]byte
	// Database returns the identity of the replica's database and its branch, hashed with the
	// space.
	Database() [16]byte
	// Now returns the time of day.
	Now() time.Time
	// EntryMax returns the limit of the stored form of entries.
	EntryMax() int

	// Description returns the description of the space; nil if it is not known yet.
	Description() ([]byte, error)
	// Describe stores the description, unless it is known. A description of another space is an
	// error.
	Describe(p []byte) error

	// MayRead returns why a device may not have anything of the space now, or nil. The reason is
	// [ErrNotAllowed], or [ErrUnknown].
	MayRead(device [32]byte) (reason, err error)
	// Denied notes that one of the peer and this side gives nothing to the other.
	Denied(peer [32]byte, reason error)

	// Position returns how far this replica has got, and whether it has sealed everything that it
	// has written. What is up to there is durable.
	Position() (p Position, whole bool, err error)
	// Token returns how far this replica has what the database of a peer has; the zero Token if it
	// was never told.
	Token(database [16]byte) (Token, error)
	// Remember makes Token return a token, until the next Keep or the end of the program.
	Remember(database [16]byte, t Token)
	// Keep stores a token.
	Keep(database [16]byte, t Token) error
	// Resume returns the arrival that a token of this replica stands for, if it stands for one.
	Resume(t Token) (arrival uint64, ok bool, err error)

	// Announce returns the ends of logs that changed after an arrival, at most most of them. They
	// are as far as they are sealed and durable. More says that there are others.
	Announce(after uint64, most int) (heads []Head, p Position, more bool, err error)
	// Latest returns the latest time of the entries that the replica has.
	Latest() (uint64, error)
	// Ends returns the ends of all logs, as far as they would be announced, in order.
	Ends() (*Ends, error)
	// News returns what arrived after an arrival, if that is remembered.
	News(after uint64) (news []News, p Position, ok bool)
	// Changed returns a channel that is closed when something has arrived, or was written, after
	// the call.
	Changed() <-chan struct{}
	// Seal seals what this replica has written, and makes everything sealed durable. If there is
	// nothing, what is written next may be sealed as it is committed.
	Seal() error
	// Own returns the id of the log that the replica writes.
	Own() (entry.Hash, error)
	// Find returns what the replica has of the logs of heads.
	Find(heads []Head) ([]Log, error)
	// Run returns the run of a log that begins with an entry, without what a reader may not read or
	// does not ask for. The error is [ErrLacking] if it should have content that is not here.
	Run(log uint32, first uint64, to *Reader) (*Run, error)
	// Holds returns the names of the collections whose content the replica asks for, ascending; nil
	// stands for all.
	Holds() ([]string, error)
	// Gaps returns entries whose content the replica has to be given later, of so many logs at
	// most.
	Gaps(most int) ([]Gap, error)
	// End returns how many entries of a log are here.
	End(log uint32) (uint64, error)
	// Time returns the time of an entry.
	Time(log uint32, seq uint64) (uint64, error)

	// Proof returns the fork proof that cuts a log.
	Proof(log uint32) (*Proof, error)
	// Prove applies a fork proof that a session has received. One that is not valid is an error.
	Prove(proof []byte) error

	// Apply verifies and merges runs that a session has received, durably unless the database does
	// not sync. What cannot be merged yet may wait or be dropped. Refusals is what is not valid:
	// other runs are merged nevertheless.
	Apply(session uint64, runs []*Run) (refusals []Refusal, err error)
	// Sync makes everything that was merged durable.
	Sync() error

	Starter
}

// Reader is to whom a source gives entries.
type Reader struct {
	Device      [32]byte
	All         bool            // it asks for the content of all collections
	Collections map[string]bool // else of these
}

// Asks reports whether the reader asks for the content of a collection.
func (r *Reader) Asks(collection string) bool { return r.All || r.Collections[collection] }

// ErrEnded is the reason why a source does not give an entry: it has given way to another branch of
// the log, which may have less.
var ErrEnded = errors.New("the log has fewer entries now")

// ErrLacking is the reason why a source does not give a run: it has not all of its content.
var ErrLacking = errors.New("this replica lacks content of the entries")

// Gap is entries of a log that a replica has, some of them without content that it wants.
type Gap struct {
	Log      [prefixSize]byte
	From, To uint64
}

// Token says how far a replica has what another has: everything up to a batch of arrivals, and the
// digest of all batches up to it. So a token is worth nothing for a database that took another way.
type Token struct {
	Batch  uint64 // 0: none
	Digest [16]byte
}

// Position is how far something has got in the order of arrival at a replica.
type Position struct {
	Arrival uint64
	Token   // of the batch that Arrival is the last one of
}

// prefixSize is how much of the id of a log names it.
const prefixSize = 12

// Head is the end of a log as far as it is sealed.
type Head struct {
	Log   [prefixSize]byte // the first bytes of its id
	Next  uint64           // the number of entries
	Hash  entry.Hash       // of the last; a sink does not know it
	Check [8]byte          // of Hash: see checkOf; a source does not need it
	// Cut says that a fork proof cuts the log, which is announced up to there at most. A sink does
	// not know it.
	Cut    bool
	Number uint32 // of the log; a sink does not know it
}

// Log is what a replica has of a log. The zero value is a log that it does not know.
type Log struct {
	Number uint32
	ID     entry.Hash
	Next   uint64     // the number of entries
	Sealed uint64     // of which so many are sealed
	Hash   entry.Hash // of the entry that is the peer's last, if this replica has it
	Pruned bool       // it has pruned that, and does not know the hash
	Own    bool       // the replica writes the log
	// Waiting is the number of entries when those are merged that wait for others; 0 if none do.
	Waiting uint64
	// Over says that nothing more of the log counts: a fork proof cuts it, the replica has it up to
	// there, and the peer's last entry is behind that.
	Over bool
}

// has returns how many entries the replica need not be sent. Of its own, it must have the seals.
func (l *Log) has() uint64 {
	if l.Over {
		return math.MaxUint64
	}
	if l.Own {
		return l.Sealed
	}
	return l.Next
}

// News is that a log grew.
type News struct {
	Log      uint32
	From, To uint64
	Session  uint64 // that it came from; 0 for none
	Cut      bool   // a fork proof cuts it
}

// Proof is the fork proof that cuts a log.
type Proof struct {
	Encoded []byte
	Device  [32]byte // whose log it is
	// From and To are the sealed entries that the replica has behind the cut. The device may want
	// them.
	From, To uint64
}

// Refusal is why an entry, and what follows it, was refused.
type Refusal struct {
	Log    entry.Hash
	Seq    uint64
	Later  bool // it is valid, and not taken now; else it is not valid
	Reason error
	Told   string // what the peer is told of the reason
}
