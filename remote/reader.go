package remote

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/hook"
	"github.com/stoatdb/stoat/remote/internal/archive"
	"github.com/stoatdb/stoat/remote/internal/history"
	"github.com/stoatdb/stoat/remote/internal/tail"
	"github.com/stoatdb/stoat/remote/objstore"
)

// ReaderOptions configures how [OpenReader] opens a database. The zero value and a nil
// *ReaderOptions mean the defaults.
type ReaderOptions struct {
	// Database says how much memory the reader takes, where it logs, and with which Key the cache in
	// its folder is encrypted, for which the store must be one of package cryptstore. Its other fields
	// have no effect. Default: nil.
	Database *stoat.Options

	// Poll is the time between two looks at the store: what is shipped is seen after about half of
	// it. Each is one request. Default: 0, which means a second.
	Poll time.Duration

	// PollMax is what that time grows to while nothing happens. Default: 0, which means 10 seconds,
	// or Poll if that is longer.
	PollMax time.Duration

	// CacheBytes is how much the cache takes at most, on the disk or, if there is no folder, in
	// memory; at least 512 KiB. Default: 0, which means 1 GiB, or 32 MiB of memory.
	CacheBytes int64

	// Patience is how long a read tries to get what it needs from a store that does not answer.
	// Default: 0, which means 10 seconds.
	Patience time.Duration
}

const (
	defaultPoll     = time.Second
	defaultPollMax  = 10 * time.Second
	defaultPatience = 10 * time.Second
)

// withDefaults returns o with every zero field set.
func (o *ReaderOptions) withDefaults() (set ReaderOptions) {
	if o != nil {
		set = *o
	}
	set.Poll = orDefault(set.Poll, defaultPoll)
	set.PollMax = max(set.Poll, orDefault(set.PollMax, defaultPollMax))
	set.Patience = orDefault(set.Patience, defaultPatience)
	set.Database = ownOptions(set.Database)
	return set
}

// Reader is a database that another process writes, as far as that has shipped it. It shows one
// committed state after the other, in their order; some may be left out. Transactions that write
// fail with [stoat.ErrReadOnly]. [stoat.DB.Watch] reports changes, and goes on across a change of
// the writer. It is safe for concurrent use.
type Reader struct {
	*stoat.DB
	tail  *tail.Tail
	store *meter
	far   *far // nil until the database in the store is known

	changing sync.Mutex // held to close it, or to take over
	closed   bool
}

// OpenReader opens the database in a store for reading, and follows what is shipped to it. The
// writer does not notice. Whatever happens to the store afterwards, the reader shows what it has,
// and goes on when the store answers; only reads of what is not at hand need the store. If there is
// no database, the error is [ErrNone]. Once OpenReader has returned, the context has no effect.
//
// What was read from files stays in the folder dir, which is created if it is missing, for this
// reader and those after it. Nothing in it is needed: it may be removed while no reader is open.
// One reader at a time may use it: for others, the error is [stoat.ErrLocked]. If dir is empty, the
// cache is in memory.
func OpenReader(
	ctx context.Context, store objstore.Store, dir string, opts *ReaderOptions,
) (*Reader, error) {
	settings, _ := hook.Of(opts)
	o := opts.withDefaults()
	err := wantSealed(store, o.Database)
	var r *Reader
	if err == nil {
		r, err = openReader(ctx, &meter{Store: store}, dir, o, settings, false)
	}
	if err != nil {
		return nil, fmt.Errorf("open a reader of a database in object storage: %w", err)
	}
	return r, nil
}

// openReader is OpenReader as the settings say, perhaps to take over at once.
func openReader(
	ctx context.Context, store *meter, dir string, o ReaderOptions, settings hook.Settings,
	atOnce bool,
) (*Reader, error) {
	r := &Reader{store: store}
	log, err := archive.NewLog(r.store)
	if err != nil {
		return nil, err
	}
	r.tail, err = tail.Open(ctx, log, tail.Config{
		Poll: o.Poll, PollMax: o.PollMax, AtOnce: atOnce,
		Replica: func(database, first [16]byte) (*engine.Replica, error) {
			r.far, err = openFar(farConfig{
				store: r.store, patience: o.Patience, database: database, first: first,
				files: settings.FS, dir: dir, limit: o.CacheBytes, key: o.Database.Key,
				logger:  o.Database.Logger,
				missing: func() { r.tail.Missing() }, // once it is open
			})
			if err != nil {
				return nil, err
			}
			return r.openReplica(database, *o.Database, settings)
		},
		Claimed: func(claims history.Claims) { r.far.claims.Store(&claims) },
	})
	if errors.Is(err, objstore.ErrNotExist) {
		err = ErrNone
	}
	if err != nil && r.far != nil {
		err = errors.Join(err, r.far.stop())
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// openReplica opens the database, without anything in it.
func (r *Reader) openReplica(
	database [16]byte, opts stoat.Options, settings hook.Settings,
) (replica *engine.Replica, err error) {
	settings.Replica = func(options engine.Options) *engine.Replica {
		options.Tuning = settings.Tuning
		replica = engine.OpenReplica(r.far, "", database, options)
		return replica
	}
	defer hook.Attach(&opts, settings)()
	r.DB, err = stoat.Open("", &opts)
	return replica, err
}

// WaitFor returns when the reader shows the commit of a position, which may come from the writer's
// DB or from another reader: so a program reads what it has written elsewhere. It waits for the
// commit to be shipped until ctx ends. If the commit was lost, the error is [ErrLost].
func (r *Reader) WaitFor(ctx context.Context, p stoat.Position) error {
	if p == 0 {
		return nil
	}
	if err := r.tail.WaitFor(ctx, engine.Position(p)); err != nil {
		return fmt.Errorf("wait for a position: %w", err)
	}
	return nil
}

// Close stops following and closes the database. Open transactions go on.
func (r *Reader) Close() (err error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	r.tail.Close()
	return errors.Join(r.DB.Close(), r.far.stop())
}

// ReaderStatus says how far a reader is, and what that took.
type ReaderStatus struct {
	Position stoat.Position // of the newest commit that it shows
	Age      time.Duration  // for how long there may be newer ones in the store

	Requests uint64 // to the store, since the reader was opened
	Bytes    uint64 // received from the store since then

	// TakingOver is since when TakeOver tries to take the role of the writer; zero if it does not.
	TakingOver time.Time

	// Failed is why the last look at the store failed, or the last try of TakeOver, which goes on;
	// nil if it did not.
	Failed error
}

// Status returns how far the reader is.
func (r *Reader) Status() ReaderStatus {
	s := r.tail.Status()
	return ReaderStatus{
		Position: r.Position(), Age: s.Age, TakingOver: s.Claiming, Failed: s.Failed,
		Requests: r.store.requests.Load(), Bytes: r.store.received.Load(),
	}
}
