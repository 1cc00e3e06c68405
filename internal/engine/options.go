package engine

import (
	"log/slog"
	"time"
)

// Compression says which blocks are compressed.
type Compression uint8

const (
	CompressionAuto Compression = iota // what is likely to stay, as suits it, where it saves enough
	CompressionNone                    // no block
	CompressionZstd                    // every block where it saves enough
)

// Options says how a database is opened. The zero value is the default.
type Options struct {
	ReadOnly    bool  // never write, take no lock
	NoSync      bool  // a commit is durable only at Sync, Close or when the system pleases
	Volatile    bool  // keep no log: the file system does not outlive the process
	MemoryLimit int64 // bytes for memtables and decoded blocks together
	Compression Compression
	// ValueThreshold is the size from which values stay in the log or go to value files; less than
	// 0 keeps all in tables.
	ValueThreshold int
	LockTimeout    time.Duration // how long Open waits for another process
	Logger         *slog.Logger  // background events; nil is silent
	Tuning         Tuning
}

// Tuning holds sizes that are constants to users. Tests shrink them to make rare paths hot. A zero
// field is the default.
type Tuning struct {
	MemtableBytes int64 // a memtable is sealed at this size
	SpillBytes    int64 // so much of a transaction goes to tables at a time
	// UnspilledBytes is how much a memtable has when the open transaction goes to tables. By
	// default that is MemtableBytes; if SpillBytes is set, it is that.
	UnspilledBytes int64
	TableBytes     int64         // a table is closed at this size
	BlockBytes     int           // as in table.WriterOptions
	SampleBytes    int           // bytes of a bucket's values that decide on their encoding
	ValueBytes     int64         // a value file is closed at this size
	Garbage        int64         // so much garbage in value files is of no concern
	DeferredBytes  int64         // so much of deferred values is compressed at a time
	CloseBytes     int64         // so much of large values is compressed by Close
	YoungRuns      int           // so many young runs start a compaction
	OwnRuns        int           // a large transaction has no more runs for long
	JournalBytes   int64         // the manifest may always grow by this much before it is written anew
	IdleAfter      time.Duration // without commits for so long, compactions tidy up
	RestAfter      time.Duration // without commits for so long, a large memtable is flushed
	RestBytes      int64         // from this size on it is large
	RestGarbage    uint64        // a memtable that deletes so much of tables is flushed, too
	// Passed is how many entries that are not there a writer passes in a row until the memtable is
	// to hide them; for a reader it is some times as many.
	Passed int

	Now func() time.Time // the clock by which entries expire
}

const (
	defaultMemoryLimit = 128 << 20
	defaultTableBytes  = 32 << 20
	defaultValueBytes  = 64 << 20
	defaultGarbage     = 32 << 20
	defaultThreshold   = 4 << 10
	// defaultDeferredBytes take a core 30 ms, and defaultCloseBytes a quarter of a second.
	defaultDeferredBytes = 8 << 20
	defaultCloseBytes    = 64 << 20

	defaultYoungRuns    = 4
	defaultOwnRuns      = 16 // reads look into each of them, and compactions compare their keys
	defaultJournalBytes = 256 << 10
	defaultIdleAfter    = 200 * time.Millisecond
	defaultRestAfter    = time.Second
	defaultRestBytes    = 4 << 20
	defaultRestGarbage  = 64 << 10
	defaultPassed       = 16

	// heapShare of the memory limit is for what is in use: Go's collector lets the heap grow to
	// twice that before it looks.
	heapShare = 2
	// memtableShare of the memory limit, as a divisor, is one memtable's size. One that fills and
	// one that is being flushed have what is for use, so that a writer that is faster than flushes
	// waits.
	memtableShare = 4
	minMemtable   = 1 << 20
	// spillShare of a memtable, in quarters, is what a large transaction writes to tables at a
	// time, once the memtable that all share is full with it: so much is being filled, and so much
	// being written, beside that. Smaller parts would be more runs to compact.
	spillShare = 3
	// recentShare of the memory limit, as a divisor, is for the newest commits while somebody
	// follows.
	recentShare = 32
	// cacheShare of the memory limit is what decoded blocks may always use.
	cacheShare = 8
)

// withDefaults returns o with every zero field set.
func (o Options) withDefaults() Options {
	setDefault(&o.MemoryLimit, defaultMemoryLimit)
	t := &o.Tuning
	setDefault(&t.MemtableBytes, max(o.MemoryLimit/memtableShare, minMemtable))
	if t.SpillBytes > 0 {
		setDefault(&t.UnspilledBytes, t.SpillBytes)
	}
	setDefault(&t.SpillBytes, max(t.MemtableBytes/4*spillShare, 1))
	setDefault(&t.UnspilledBytes, t.MemtableBytes)
	setDefault(&t.TableBytes, defaultTableBytes)
	setDefault(&t.ValueBytes, defaultValueBytes)
	setDefault(&t.Garbage, defaultGarbage)
	setDefault(&t.DeferredBytes, defaultDeferredBytes)
	setDefault(&t.CloseBytes, defaultCloseBytes)
	setDefault(&o.ValueThreshold, defaultThreshold)
	if t.Now == nil {
		t.Now = time.Now
	}
	setDefault(&t.YoungRuns, defaultYoungRuns)
	setDefault(&t.OwnRuns, defaultOwnRuns)
	setDefault(&t.JournalBytes, defaultJournalBytes)
	setDefault(&t.IdleAfter, defaultIdleAfter)
	setDefault(&t.RestAfter, defaultRestAfter)
	setDefault(&t.RestBytes, defaultRestBytes)
	setDefault(&t.RestGarbage, defaultRestGarbage)
	setDefault(&t.Passed, defaultPassed)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// heapBytes is how much of the memory limit memtables may take, and decoded blocks with them.
func (o *Options) heapBytes() int64 { return o.MemoryLimit / heapShare }

// recentBytes is how much of the memory limit the newest commits may take while somebody follows.
func (o *Options) recentBytes() int64 { return o.MemoryLimit / recentShare }

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
