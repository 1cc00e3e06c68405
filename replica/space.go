package replica

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/replica/internal/entry"
	"github.com/stoatdb/stoat/replica/internal/session"
)

// Space is a replica of a space: collections that devices share. A database may hold any number of
// spaces. Open a space once and share it; it is safe for concurrent use, transactions are not.
type Space struct {
	db     *stoat.DB
	name   string
	id     entry.Hash
	device *Device
	branch uint64 // of the database
	now    func() time.Time
	random io.Reader

	maxOffline time.Duration

	ends endsCache

	mu          sync.Mutex
	entryMax    int          // of own entries
	about       *entry.Space // nil until it is known
	collections map[string]*collection
	tables      map[uint32]*fieldTable // by collection, as last read
	horizon     *knownHorizon          // as last read; nil: not yet
	offered     *offer                 // to replicas that start; nil: not yet
	encoded     *encodedOffer          // of offered, for the last of them; nil: not yet
	begun       *begunStart            // from a checkpoint; nil: none
	room        room
	refused     uint64 // how many refusals there were
	refusals    recent[Refusal]
	failures    recent[Failure]
	peers       map[uint64]Peer            // by the number of the session
	tokens      map[[16]byte]session.Token // by database, newer than those that are stored
	skew        time.Duration              // how far the clock of the last peer is ahead
	followers   int                        // sessions
	unfollow    func()                     // ends watch
	retried     bool                       // what waits for a newer version of the package
	chronicle   chronicle
	applying    sync.Mutex // held while entries of others are applied
	taken       *usages    // by the holder of applying; nil until it is needed
	scratch     sync.Pool  // of *scratch

	rights  rightsCache
	buckets atomic.Pointer[spaceBuckets]      // as last looked up
	names   atomic.Pointer[map[uint32]string] // of collections, by their numbers, as last read

	perDevice, perSpace Quota
	admission           func(*stoat.Tx, *Offer) error
	deferredMax         int
	offerMax            int
}

// Options configures a space.
type Options struct {
	// Device signs what this replica writes. It must be set, except to read.
	Device *Device
	// Roots are the devices that found a space, in Create. Default: Device.
	Roots []DeviceID
	// Trusted creates a space without signatures and rights, in Create: for replicas that all
	// belong to one owner. Everybody who can exchange entries with one of them may write anything,
	// in every name. A space stays what it is: to seal it later, create another one, and store the
	// records there.
	Trusted bool
	// Quorum is how many roots must agree to a grant or a revocation that a root makes, in Create.
	// Default: 1.
	Quorum int
	// Collections are the collections that this replica holds. Of others, it has who changed them
	// and when, and not what; they cannot be opened. Default: all that the device may read. It is
	// stored: nil stands for what it was when the space was opened before, and a slice that is
	// empty for all. What is missing of a collection that is added arrives with sessions: until it
	// has, the collection shows what it was before, and is not written to.
	Collections []string
	// EntryMax limits the size of what one transaction does, in bytes, in Create: from 1 MiB to 16
	// MiB. Default: 1 MiB.
	EntryMax int
	// MaxOffline is how long other devices may be silent before checkpoints of this replica cover
	// what they may not have seen. Default: 90 days.
	MaxOffline time.Duration
	// PerDevice limits what this replica takes of each device, and PerSpace of all of them.
	PerDevice, PerSpace Quota
	// Admit is asked about valid entries from others before this replica takes them, for rules that
	// a program has beyond rights. An error says why it does not; the peer is told its text if it
	// wraps no other error, as of [SyncOptions].Admit. It does not decide what is valid: others may
	// take the entries, and then what follows them waits here.
	Admit func(tx *stoat.Tx, offer *Offer) error
	// Now returns the time of day. Default: time.Now.
	Now func() time.Time

	random io.Reader // nil: rand.Reader
	branch uint64    // 0: the branch of the database

	deferredMax int // 0: the constant of that name
	offerMax    int // of tests, bytes; 0: session.OfferMax
}

// errNoDevice reports options without a device.
var errNoDevice = errors.New("Options.Device is not set: use NewDevice or LoadDevice")

// Create creates a space under a name that is local to this database, and a log for the device.
// Other replicas join it by its [Space.ID].
func Create(db *stoat.DB, name string, opts *Options) (*Space, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Device.check(); err != nil {
		return nil, wrap(name, err)
	}
	about, err := opts.founding()
	if err != nil {
		return nil, wrap(name, err)
	}
	if _, err := io.ReadFull(newSpace(db, name, opts).random, about.Salt[:]); err != nil {
		return nil, wrap(name, err)
	}
	described := about.Append(nil)
	if _, err := entry.ParseSpace(described); err != nil {
		return nil, wrap(name, err)
	}
	return found(db, name, about.ID(), described, opts)
}

// founding returns the description of a space that is created with the options, without its salt.
func (o *Options) founding() (*entry.Space, error) {
	about := &entry.Space{Trusted: o.Trusted, Quorum: uint64(o.Quorum),
		EntryMax: uint64(cmp.Or(o.EntryMax, entry.EntryMaxLeast))}
	for _, id := range o.Roots {
		about.Roots = append(about.Roots, id)
	}
	if len(about.Roots) == 0 && !o.Trusted {
		about.Roots = [][32]byte{o.Device.ID()}
	}
	if !o.Trusted {
		about.Quorum = uint64(max(o.Quorum, 1))
	}
	slices.SortFunc(about.Roots, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	switch n := len(about.Roots); {
	case o.EntryMax != 0 && (o.EntryMax < entry.EntryMaxLeast || o.EntryMax > entry.SizeMax):
		return nil, fmt.Errorf("Options.EntryMax is %d: it is from 1 MiB to 16 MiB", o.EntryMax)
	case o.Trusted && (n > 0 || o.Quorum != 0):
		return nil, errors.New("Options.Trusted is set: a trusted space has no Roots and no Quorum")
	case o.Quorum < 0 || !o.Trusted && o.Quorum > n:
		return nil, fmt.Errorf("Options.Quorum is %d: it is at most the number of roots, %d",
			o.Quorum, n)
	case n > entry.RootsMax:
		return nil, fmt.Errorf("Options.Roots has %d devices: at most %d found a space", n,
			entry.RootsMax)
	}
	for i := range about.Roots {
		if about.Roots[i] == (DeviceID{}) { // anybody can sign with that key
			return nil, errors.New("Options.Roots has a device that is not set")
		}
		if i > 0 && about.Roots[i] == about.Roots[i-1] {
			return nil, fmt.Errorf("Options.Roots has the device %s twice", DeviceID(about.Roots[i]))
		}
	}
	return about, nil
}

// Join creates a replica of a space that exists elsewhere. What others wrote arrives with the
// first [Sync]; only then it can be written to, because only then it is known who may.
func Join(db *stoat.DB, name string, id SpaceID, opts *Options) (*Space, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.Device.check(); err != nil {
		return nil, wrap(name, err)
	}
	return found(db, name, entry.Hash(id), nil, opts)
}

// found creates a replica. The description of the space is nil as long as it is not known.
func found(
	db *stoat.DB, name string, id entry.Hash, described []byte, opts *Options,
) (*Space, error) {
	if name == "" || len(name) > 255 || strings.Contains(name, "/") {
		return nil, wrap(name, errors.New("the name of a space has 1 to 255 bytes and no slash"))
	}
	s := newSpace(db, name, opts)
	s.id = id
	err := db.Update(func(tx *stoat.Tx) error {
		root, err := tx.CreateBucketIfNotExists([]byte(rootBucket))
		if err != nil {
			return err
		}
		b, err := root.CreateBucket([]byte(name))
		if errors.Is(err, stoat.ErrBucketExists) {
			return ErrExists
		}
		for _, child := range []string{entriesBucket, statesBucket, touchesBucket,
			basesBucket} {
			if err == nil {
				_, err = b.CreateBucket([]byte(child))
			}
		}
		if err != nil {
			return err
		}
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		if err = t.meta.Put([]byte(keySpace), id[:]); err == nil && described != nil {
			err = t.meta.Put([]byte(keyDescription), described)
		}
		if err == nil && opts.Collections != nil {
			err = t.hold(opts.Collections)
		}
		if err != nil {
			return err
		}
		return t.beginLog()
	})
	if err != nil {
		return nil, wrap(name, err)
	}
	return s, wrap(name, s.readLimits())
}

// Open opens a space that was created or joined in this database. If its log belongs to another
// device, or if the database was restored from a backup since the log began, a new log begins, and
// what the old one had not sealed is issued again there. Without a device, the space can only be
// read here, and take what others give it by [Import].
func Open(db *stoat.DB, name string, opts *Options) (*Space, error) {
	if opts == nil {
		opts = &Options{}
	}
	if opts.Device != nil {
		if err := opts.Device.check(); err != nil {
			return nil, wrap(name, err)
		}
	}
	s := newSpace(db, name, opts)
	continues := false
	err := db.View(func(tx *stoat.Tx) error {
		t, err := s.in(tx)
		if err != nil {
			return err
		}
		p, err := t.meta.Get([]byte(keySpace))
		if err != nil {
			return err
		}
		copy(s.id[:], p)
		if continues = s.device == nil; !continues {
			continues, err = t.continuesLog()
		}
		return err
	})
	if err == nil {
		err = s.readLimits()
	}
	if err == nil {
		if err = s.keepHoldings(opts.Collections); err != nil {
			return nil, wrap(name, err)
		}
	}
	if err == nil && !continues {
		err = db.Update(func(tx *stoat.Tx) error {
			t, err := s.in(tx)
			if err != nil {
				return err
			}
			own, err := t.ownHead()
			if err == nil {
				err = t.putSettle(own)
			}
			if err != nil {
				return err
			}
			return t.settle()
		})
	}
	if err != nil && !errors.Is(err, stoat.ErrReadOnly) { // nobody writes there
		return nil, wrap(name, err)
	}
	return s, nil
}

func newSpace(db *stoat.DB, name string, opts *Options) *Space {
	s := &Space{db: db, name: name, device: opts.Device, now: opts.Now, random: opts.random,
		perDevice: opts.PerDevice, perSpace: opts.PerSpace, admission: opts.Admit,
		branch:      cmp.Or(opts.branch, db.Identity().Branch),
		maxOffline:  cmp.Or(opts.MaxOffline, maxOffline),
		deferredMax: cmp.Or(opts.deferredMax, deferredMax),
		offerMax:    cmp.Or(opts.offerMax, session.OfferMax),
		collections: map[string]*collection{}, tables: map[uint32]*fieldTable{}}
	if s.now == nil {
		s.now = time.Now
	}
	if s.random == nil {
		s.random = rand.Reader
	}
	s.room.now = s.now
	return s
}

// readLimits reads what the description of the space says, once it is known.
func (s *Space) readLimits() error { return s.db.View(s.learn) }

// learn is readLimits in a transaction that only reads.
func (s *Space) learn(tx *stoat.Tx) error {
	p, err := s.description(tx)
	if err != nil {
		return err
	}
	limit := entry.EntryMaxLeast
	var about *entry.Space
	if p != nil {
		if about, err = entry.ParseSpace(bytes.Clone(p)); err != nil {
			return err
		}
		limit = int(about.EntryMax)
	}
	s.mu.Lock()
	if s.about == nil { // an old transaction may know less
		s.entryMax, s.about = limit, about
	}
	s.mu.Unlock()
	return nil
}

// described returns what the description of the space says, or nil if it is not known yet.
func (s *Space) described() *entry.Space {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.about
}

// trusted reports whether the space is known to be trusted.
func (s *Space) trusted() bool {
	about := s.described()
	return about != nil && about.Trusted
}

// description returns the description of the space, or nil if it is not known yet.
func (s *Space) description(tx *stoat.Tx) ([]byte, error) {
	t, err := s.in(tx)
	if err != nil {
		return nil, err
	}
	p, err := t.meta.Get([]byte(keyDescription))
	if missing(err) {
		return nil, nil
	}
	return p, err
}

// ID returns the id by which others join the space.
func (s *Space) ID() SpaceID { return SpaceID(s.id) }

// Name returns the name of the space in this database.
func (s *Space) Name() string { return s.name }

// time returns the time of day.
func (s *Space) time() time.Time { return s.now() }
