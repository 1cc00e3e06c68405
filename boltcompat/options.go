package boltcompat

import (
	"fmt"
	"os"
	"time"

	"github.com/stoatdb/stoat"
)

// Limits of keys and values.
const (
	// MaxKeySize is the maximum length of a key, in bytes, as in bbolt.
	MaxKeySize = 32768
	// MaxValueSize is the maximum length of a value, in bytes: half of what bbolt allows.
	MaxValueSize = 1 << 30
)

// DefaultFillPercent is the default of [Bucket.FillPercent].
const DefaultFillPercent = 0.5

// Defaults of the fields of [DB].
const (
	defaultBatchSize  = 1000
	defaultBatchDelay = 10 * time.Millisecond
	defaultAllocSize  = 16 << 20
)

// waitForever is the wait for a lock if bbolt would wait without an end.
const waitForever = 100 * 365 * 24 * time.Hour

// FreelistType is the type of a free list, which Stoat does not have.
type FreelistType string

// The types of free lists.
const (
	FreelistArrayType = FreelistType("array")
	FreelistMapType   = FreelistType("hashmap")
)

// Options configures how [Open] opens a database. It has the fields of bbolt; those about pages,
// maps and the free list have no effect.
type Options struct {
	// Timeout is how long Open waits while another process has the database open; with 0, it waits
	// without an end.
	Timeout time.Duration
	// NoGrowSync has no effect.
	NoGrowSync bool
	// NoFreelistSync has no effect.
	NoFreelistSync bool
	// PreLoadFreelist has no effect.
	PreLoadFreelist bool
	// FreelistType has no effect.
	FreelistType FreelistType
	// ReadOnly opens the database as it is now and does not see what others write later. It takes
	// no lock: other processes may have the database open, for writing, too.
	ReadOnly bool
	// MmapFlags has no effect.
	MmapFlags int
	// InitialMmapSize has no effect.
	InitialMmapSize int
	// PageSize is what [DB.Info] returns.
	PageSize int
	// MaxSize is the size in bytes that commits must not exceed, as far as it is known when they
	// begin. Open does not check it. 0 or less means no limit.
	MaxSize int
	// NoSync sets [DB.NoSync], and is what makes commits fast: set afterwards, the field has no
	// effect.
	NoSync bool
	// OpenFile has no effect: a database is not one file.
	OpenFile func(string, int, os.FileMode) (*os.File, error)
	// Mlock has no effect.
	Mlock bool
	// Logger receives what happens; nil for nothing.
	Logger Logger
	// NoStatistics makes [DB.Stats] return zero.
	NoStatistics bool
}

// DefaultOptions are the options that nil stands for.
var DefaultOptions = &Options{FreelistType: FreelistArrayType}

// String returns the options that have an effect.
func (o *Options) String() string {
	if o == nil {
		return "{}"
	}
	return fmt.Sprintf(
		"{Timeout: %s, ReadOnly: %t, PageSize: %d, MaxSize: %d, NoSync: %t, NoStatistics: %t}",
		o.Timeout, o.ReadOnly, o.PageSize, o.MaxSize, o.NoSync, o.NoStatistics)
}

// stoat returns the options for Stoat.
func (o *Options) stoat() *stoat.Options {
	opts := &stoat.Options{ReadOnly: o.ReadOnly, LockTimeout: o.Timeout}
	if o.Timeout <= 0 {
		opts.LockTimeout = waitForever
	}
	if o.NoSync {
		opts.Sync = stoat.SyncNever
	}
	if o.Logger != nil {
		opts.Logger = events(o.Logger)
	}
	return opts
}
