package stoat

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
)

// Options says how to open a database. The zero value, and a nil *Options, is the default.
// Open copies what it needs.
type Options struct {
	// ReadOnly opens the files as they are, takes no lock and writes nothing; any number of
	// processes can do so. The database must exist, as a new one does when something was written to
	// it or it was closed, and shows the state at the time of opening.
	// Default: false, which excludes other writers and lets this process be one.
	ReadOnly bool

	// Sync says when a commit is durable. Default: SyncAlways. SyncNever makes commits as fast as
	// memory and loses the last of them, in whole transactions, when the system crashes.
	Sync SyncMode

	// MemoryLimit is the number of bytes for memtables and decoded blocks together, at least 2 MiB,
	// with the room that Go's collector needs for them: half of it is for what they take, and as
	// much for what the collector has not found yet. Buffers of flushes and compactions come on
	// top, and what their garbage makes of the heap: at the default a process that loads was seen
	// to take up to 60 MiB more. Pages of the files do not count, which the system keeps and takes
	// back as it likes, though many tools tell them as resident, too. More memory means fewer,
	// larger flushes and more reads without decoding; less memory suits small machines. A
	// transaction goes to tables while it runs when it takes, with what is not in tables yet, a
	// quarter of that. Default: 0, which stands for 128 MiB.
	MemoryLimit int64

	// Compression chooses how tables store values. Default: CompressionAuto. CompressionNone makes
	// flushes and first reads cheaper and files larger.
	Compression Compression

	// ValueThreshold is the size in bytes from which a value that does not compress is not copied
	// by compactions: it stays where its commit wrote it, in the log, until nobody commits and it
	// is moved into the order of keys. A smaller threshold has such values of less than 4 KiB
	// written about half as often, and makes gets and scans of them slower, up to twice and ten
	// times; docs/design/value-log.md has the curve. Values that compress go to compressed tables,
	// whatever their size, unless Compression is CompressionNone. At least 64; less than 0 keeps
	// all values in tables. Default: 0, which stands for 4 KiB.
	ValueThreshold int

	// LockTimeout is how long Open waits while another process has the database open. Default: 0,
	// which fails at once with ErrLocked. Waiting smooths restarts, and delays the report that
	// another process still runs.
	LockTimeout time.Duration

	// Logger receives events of the background work: flushes, compactions, recovery and failures.
	// Its handler must not use the database. Default: nil, which is silent.
	Logger *slog.Logger
}

// minValueThreshold is the least size of a value outside of tables: less would make its pointer a
// good part of it.
const minValueThreshold = 64

// minMemoryLimit is the least room in which flushes are of a size that compactions can cope with.
const minMemoryLimit = 2 << 20

// SyncMode says when a commit is durable.
type SyncMode uint8

const (
	// SyncAlways makes every commit durable before it returns. Concurrent commits share syncs.
	SyncAlways SyncMode = iota
	// SyncNever returns from a commit at once; it is durable after [DB.Sync], after [DB.Close], or
	// when the system pleases. A crash keeps a prefix of the commits, never a part of one.
	SyncNever
)

// Compression chooses how tables store values.
type Compression uint8

const (
	// CompressionAuto makes values that are likely to stay smaller where it saves enough. A sample
	// decides for each bucket: values that have much in common are encoded one by one, so that a
	// read decodes one value; others are compressed in blocks with Zstandard.
	CompressionAuto Compression = iota
	// CompressionNone stores every block as it is.
	CompressionNone
	// CompressionZstd compresses blocks with Zstandard wherever it saves enough.
	CompressionZstd
)

// compressions is immutable.
var compressions = [...]engine.Compression{
	CompressionAuto: engine.CompressionAuto,
	CompressionNone: engine.CompressionNone,
	CompressionZstd: engine.CompressionZstd,
}

// check returns an error unless all options can be used; o may be nil.
func (o *Options) check() error {
	if o == nil {
		return nil
	}
	bad := func(name string, value any, allowed string) error {
		return fmt.Errorf("option %s is %v: it must be %s", name, value, allowed)
	}
	switch {
	case o.Sync > SyncNever:
		return bad("Sync", o.Sync, "SyncAlways or SyncNever")
	case int(o.Compression) >= len(compressions):
		return bad("Compression", o.Compression,
			"CompressionAuto, CompressionNone or CompressionZstd")
	case o.MemoryLimit != 0 && o.MemoryLimit < minMemoryLimit:
		return bad("MemoryLimit", o.MemoryLimit,
			"0, which stands for 128 MiB, or at least 2 MiB (2,097,152)")
	case o.ValueThreshold > 0 && o.ValueThreshold < minValueThreshold:
		return bad("ValueThreshold", o.ValueThreshold,
			"0, which stands for 4 KiB, at least 64, or less than 0 for no limit")
	case o.LockTimeout < 0:
		return bad("LockTimeout", o.LockTimeout, "0, which does not wait, or more")
	}
	return nil
}

// engine returns the engine's form of o, which may be nil and was checked.
func (o *Options) engine() engine.Options {
	if o == nil {
		o = new(Options)
	}
	return engine.Options{
		ReadOnly:       o.ReadOnly,
		NoSync:         o.Sync == SyncNever,
		MemoryLimit:    o.MemoryLimit,
		ValueThreshold: o.ValueThreshold,
		Compression:    compressions[o.Compression],
		LockTimeout:    o.LockTimeout,
		Logger:         o.Logger,
	}
}
