package remote

import (
	"fmt"
	"math"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/remote/internal/ship"
	"github.com/stoatdb/stoat/remote/objstore"
)

// Durability says when a commit returns.
type Durability uint8

const (
	// Async means: once it is on the local disk, as [stoat.Options] say. What was not shipped is lost
	// with that disk.
	Async Durability = iota
	// Wait means: once it is in the store, too, and synced here, whatever [stoat.Options] say. No
	// reader of this process sees it before. It takes one answer of the store, or two while others are
	// on their way; concurrent commits share requests.
	//
	// The context that a transaction was begun with ends the wait, too: then the error is ErrUnknown.
	// A commit that fails with ErrFenced is in the folder and not in the store. It gets there only if
	// the other writer ends before it has written anything, and the folder is opened again. If the
	// error also matches objstore.ErrUnknown, it may be in the store already.
	Wait
)

// windowOfWait is how many log objects are on their way at a time. The model has explored two.
const windowOfWait = 2

// Options configures how [Open] opens a database. The zero value and a nil *Options mean the
// defaults.
type Options struct {
	// Database is for the local database. It must not be read-only. With a Key, the folder is
	// encrypted, with its cache, and the store must be one of package cryptstore. Default: nil.
	Database *stoat.Options

	// Durability says when a commit returns. Default: Async.
	Durability Durability

	// Interval is for how long commits wait for others to be shipped with. A longer one means fewer
	// requests, and more that is lost with the folder, or, with Wait, slower commits. Default: 0,
	// which means a second with Async, and at once with Wait.
	Interval time.Duration

	// MaxLag bounds what is lost with the folder: while a commit waits for longer than this,
	// transactions wait before they begin. Half of it bounds Interval. Default: 0, which means 30
	// seconds, or two intervals if that is longer.
	MaxLag time.Duration

	// Uploads is how many files are sent at a time, besides log objects. More of them take more
	// memory, as much as the store needs for a request: files themselves are not read into memory,
	// except one at a time of those that were there before Open. Default: 0, which means 4.
	Uploads int

	// Bandwidth is how many bytes a second are sent, at most. Log objects count, and do not wait for
	// files. With less than the database writes, what is shipped falls behind more and more. Default:
	// 0, which means no limit.
	Bandwidth int64

	// CloseTimeout is how long Close tries to ship what is left. Default: 0, which means 30 seconds.
	CloseTimeout time.Duration

	// Retention is for how long the store keeps what it takes to restore a commit, after the next
	// one. Readers that fall behind by more have to begin anew. Default: 0, which means 7 days.
	Retention time.Duration

	// LocalBytes is how much of the database stays in the folder, so that the database may be larger
	// than the disk: while tables and value files there take more, the oldest of those that the store
	// has are removed, and read from the store from then on, through the cache. Then reads may need
	// the store, as after [Reader.TakeOver], and only this package opens the folder. What the store
	// does not have yet always stays, also what a compaction is writing: an eighth of LocalBytes at a
	// time, or 64 MiB if that is more. The next one waits until the store has most of it. Default: 0,
	// which means that everything stays.
	LocalBytes int64

	// CacheBytes is how much the cache of files that are only in the store takes at most; see
	// [Reader.TakeOver]. Default: 0, which means 1 GiB.
	CacheBytes int64

	// FillCache has the files that are only in the store fetched into the cache, one after the other,
	// while there is room: so a machine that took over needs the store for reads less and less, and
	// not at all once CacheBytes is well above what they take. They are received with up to Bandwidth
	// bytes a second, too. Default: false.
	FillCache bool

	// Patience is how long a read tries to get what it needs from a store that does not answer, if
	// that is in no file here. Default: 0, which means 10 seconds.
	Patience time.Duration

	// Writer is a name for people of who writes, such as that of the machine, of up to 255 bytes.
	// Default: "".
	Writer string
}

const (
	defaultInterval  = time.Second
	defaultWait      = 30 * time.Second
	defaultRetention = 7 * 24 * time.Hour
	defaultUploads   = 4
)

// withDefaults returns o with every zero field set.
func (o *Options) withDefaults() (set Options) {
	if o != nil {
		set = *o
	}
	set.Interval = max(set.Interval, 0)
	if set.Durability == Async {
		set.Interval = orDefault(set.Interval, defaultInterval)
	}
	set.MaxLag = orDefault(set.MaxLag, max(defaultWait, 2*min(set.Interval, math.MaxInt64/2)))
	set.Interval = min(set.Interval, set.MaxLag/2)
	set.CloseTimeout = orDefault(set.CloseTimeout, defaultWait)
	set.Retention = orDefault(set.Retention, defaultRetention)
	set.Uploads = orDefault(set.Uploads, defaultUploads)
	set.Patience = orDefault(set.Patience, defaultPatience)
	set.Database = ownOptions(set.Database)
	return set
}

// check returns an error if o, with defaults, cannot be that of a writer in the store.
func (o *Options) check(store objstore.Store) error {
	switch {
	case o.Database.ReadOnly:
		return stoat.ErrReadOnly
	case o.Durability > Wait:
		return fmt.Errorf("option Durability is %d: it must be Async or Wait", o.Durability)
	}
	return wantSealed(store, o.Database)
}

// shipping returns how to ship.
func (o *Options) shipping() ship.Config {
	c := ship.Config{
		Writer: o.Writer, Interval: o.Interval, MaxLag: o.MaxLag, Window: 1, Uploads: o.Uploads,
		Rate: o.Bandwidth, Local: o.LocalBytes, Retention: o.Retention,
	}
	if o.Durability == Wait {
		c.Withhold, c.Window = true, windowOfWait
	}
	return c
}

func orDefault[N int | time.Duration](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}

const (
	// partShare of LocalBytes, as a divisor, is what a compaction writes at a time, but never less
	// than minPart, which is two tables, nor more than maxPart. As much may wait to be stored. Young
	// runs are only joined with each other if they have no more than youngParts times as much.
	partShare  = 8
	youngParts = 8
	minPart    = 64 << 20
	maxPart    = 512 << 20
)

// partBytes returns how much a compaction writes at a time; 0 is the default.
func (o *Options) partBytes() int64 {
	if o.LocalBytes <= 0 {
		return 0
	}
	return min(max(o.LocalBytes/partShare, minPart), maxPart)
}
