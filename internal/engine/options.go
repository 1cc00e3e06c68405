package engine

import (
	"cmp"
	"log/slog"
	"strconv"
	"time"

	"github.com/stoatdb/stoat/internal/run"
)

// Compression says which blocks are compressed.
type Compression uint8

const (
	CompressionAuto Compression = iota // blocks that are likely to stay, by the best codec
	CompressionNone                    // no block
	CompressionZstd                    // every block where it saves enough
)

// Options says how a database is opened. The zero value is the default.
type Options struct {
	ReadOnly    bool  // never write, take no lock
	NoSync      bool  // a commit is durable only after Sync, Close or when the system decides
	Volatile    bool  // keep no log: the file system does not outlive the process
	MemoryLimit int64 // bytes for memtables and decoded blocks together
	Compression Compression
	// ValueThreshold is the size from which values stay in the log or go to value files; negative
	// keeps all in tables.
	ValueThreshold int
	LockTimeout    time.Duration // how long Open waits for another process
	Logger         *slog.Logger  // background events; nil is silent
	Tuning         Tuning
	Shipper        Shipper // nil if nobody ships what is committed elsewhere

	growsMemory bool // decoded blocks may exceed MemoryLimit, see memory.grow
}

// Tuning holds sizes that are constants to users. Tests shrink them to make rare paths hot. A zero
// field is the default.
type Tuning struct {
	MemtableBytes int64 // a memtable is sealed at this size
	SpillBytes    int64 // this much of a transaction goes to tables at a time
	// UnspilledBytes is the memtable's size at which the open transaction goes to tables. The
	// default is SpillBytes if that is set, otherwise MemtableBytes.
	UnspilledBytes int64
	TableBytes     int64         // a table is closed at this size
	BlockBytes     int           // as in table.WriterOptions
	SampleBytes    int           // this much of a bucket's values decides on their encoding
	ValueBytes     int64         // a value file is closed at this size
	Garbage        int64         // this much garbage in value files is tolerated
	DeferredBytes  int64         // this much of deferred values is compressed at a time
	YoungBytes     int64         // young runs of more are not joined; 0: any may be
	PartBytes      int64         // young runs go into the bottom run in parts of this size
	CloseBytes     int64         // Close compresses memtables of up to this size
	YoungRuns      int           // this many young runs start a compaction
	OwnRuns        int           // a large transaction with more runs compacts some
	JournalBytes   int64         // the manifest may always grow by this much before it is rewritten
	IdleAfter      time.Duration // after this long without commits, compactions tidy up
	RestAfter      time.Duration // after this long without commits, a large memtable is flushed
	RestBytes      int64         // from this size on a memtable is large
	RestGarbage    uint64        // a memtable that deletes this much of tables is flushed, too
	// Passed is how many absent entries a writer passes in a row until the memtable is to hide
	// them; for a reader it is clearShare times as many.
	Passed int

	Now func() time.Time // the clock by which entries expire
}

const (
	defaultMemoryLimit = 128 << 20
	defaultTableBytes  = 32 << 20
	defaultValueBytes  = 64 << 20
	defaultGarbage     = 4 << 20
	defaultThreshold   = 4 << 10
	// defaultPartBytes takes some seconds. Each part costs an edit that names all tables of the parts
	// before it.
	defaultPartBytes = 512 << 20
	// To compress defaultDeferredBytes takes a core 30 ms, and defaultCloseBytes, of which two
	// thirds may be entries, 10 to 20 ms.
	defaultDeferredBytes = 8 << 20
	defaultCloseBytes    = 3 << 20

	defaultYoungRuns    = 4
	defaultOwnRuns      = 16 // reads look into each of them, and compactions compare their keys
	defaultJournalBytes = 256 << 10
	defaultIdleAfter    = 100 * time.Millisecond
	defaultRestAfter    = 200 * time.Millisecond
	defaultRestBytes    = 4 << 20
	defaultRestGarbage  = 64 << 10
	defaultPassed       = 16

	// heapShare of the memory limit, as a divisor, is for live memory: Go's collector lets the heap
	// grow to twice that before it collects.
	heapShare = 2
	// memtableShare of the memory limit, as a divisor, is one memtable's size. The active memtable
	// and one that is being flushed take all live memory, so a writer that is faster than flushes
	// waits.
	memtableShare = 4
	minMemtable   = 1 << 20
	// spillShare of a memtable, in quarters, is how much a large transaction writes to tables at a
	// time, once it has filled the shared memtable. Besides the memtable, one such part is being
	// filled and one is being written. Smaller parts would mean more runs to compact.
	spillShare = 3
	// recentShare of the memory limit, as a divisor, is for the newest commits while there are
	// followers.
	recentShare = 32
	// shippedBytes is what the newest commits of a database that is shipped may take at least, up to
	// four such shares: those of two objects of the log and of some time. What is missing is read from
	// the log, all that is shipped at once.
	shippedBytes = 10 << 20
	// cacheShare of the live memory, as a divisor, is what decoded blocks may always take.
	cacheShare = 8
)

// withDefaults returns o with every zero field set.
func (o Options) withDefaults() Options {
	if o.MemoryLimit == 0 {
		o.MemoryLimit, o.growsMemory = defaultMemoryLimit, strconv.IntSize == 64
	}
	t := &o.Tuning
	t.MemtableBytes = cmp.Or(t.MemtableBytes, max(o.MemoryLimit/memtableShare, minMemtable))
	t.UnspilledBytes = cmp.Or(t.UnspilledBytes, t.SpillBytes, t.MemtableBytes)
	t.SpillBytes = cmp.Or(t.SpillBytes, max(t.MemtableBytes/4*spillShare, 1))
	t.TableBytes = cmp.Or(t.TableBytes, defaultTableBytes)
	t.ValueBytes = cmp.Or(t.ValueBytes, defaultValueBytes)
	t.Garbage = cmp.Or(t.Garbage, defaultGarbage)
	t.DeferredBytes = cmp.Or(t.DeferredBytes, defaultDeferredBytes)
	t.PartBytes = cmp.Or(t.PartBytes, defaultPartBytes)
	t.CloseBytes = cmp.Or(t.CloseBytes, defaultCloseBytes)
	o.ValueThreshold = cmp.Or(o.ValueThreshold, defaultThreshold)
	if t.Now == nil {
		t.Now = time.Now
	}
	t.SampleBytes = cmp.Or(t.SampleBytes, run.DefaultSampleBytes)
	t.YoungRuns = cmp.Or(t.YoungRuns, defaultYoungRuns)
	t.OwnRuns = cmp.Or(t.OwnRuns, defaultOwnRuns)
	t.JournalBytes = cmp.Or(t.JournalBytes, defaultJournalBytes)
	t.IdleAfter = cmp.Or(t.IdleAfter, defaultIdleAfter)
	t.RestAfter = cmp.Or(t.RestAfter, defaultRestAfter)
	t.RestBytes = cmp.Or(t.RestBytes, defaultRestBytes)
	t.RestGarbage = cmp.Or(t.RestGarbage, defaultRestGarbage)
	t.Passed = cmp.Or(t.Passed, defaultPassed)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// heapBytes returns how much live memory memtables and decoded blocks may take together.
func (o *Options) heapBytes() int64 { return o.MemoryLimit / heapShare }

// recentBytes returns how much memory the newest commits take while there are followers.
func (o *Options) recentBytes() int64 {
	share := o.MemoryLimit / recentShare
	if o.Shipper == nil {
		return share
	}
	return max(share, min(shippedBytes, 4*share))
}
