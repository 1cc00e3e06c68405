package stoat

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/vfs/cryptfs"
)

// Options configures how [Open] opens a database. The zero value and a nil *Options mean the
// defaults. Open copies what it needs.
type Options struct {
	// ReadOnly opens the files as they are, takes no lock and writes nothing; any number of
	// processes can open a database this way. The database must exist on disk, and shows its state
	// at the time of opening. Default: false, which locks out other writers and lets this process
	// write.
	ReadOnly bool

	// Sync chooses when a commit is durable. Default: SyncAlways. SyncNever makes commits as fast
	// as memory, but a system crash loses the most recent ones, always in whole transactions.
	Sync SyncMode

	// MemoryLimit is the memory for memtables and decoded blocks together, in bytes, including the
	// headroom that Go's garbage collector needs: half is for live data, and half for garbage not
	// yet collected. It must be at least 2 MiB. Buffers of flushes and compactions, and the garbage
	// they leave, come on top: with the default, loading has been seen to take up to 60 MiB more.
	// Pages of mapped files do not count, although many tools report them as resident memory; the
	// system caches and evicts them as it likes. More memory means fewer, larger flushes and more
	// reads without decoding; less suits small machines. A transaction spills to tables while still
	// running once it and the rest of the memtables reach a quarter of this limit.
	//
	// Default: 0, which means 128 MiB or, where that is more, an eighth of the memory that the
	// process may use, but at most 4 GiB. The process may use what the machine has, unless its
	// control groups (on Linux) or Go's memory limit allow less. What exceeds 128 MiB is for
	// decoded blocks only, is taken only as reads need it, and is shared by all databases of the
	// process: those that need it first get it. On 32-bit platforms and on systems other than Linux
	// and macOS, the default is 128 MiB.
	MemoryLimit int64

	// Compression chooses how tables compress values. Default: CompressionAuto. CompressionNone
	// makes flushes and first reads cheaper, and files larger.
	Compression Compression

	// ValueThreshold is the size in bytes from which compactions do not copy an incompressible
	// value: it stays in the log where its commit wrote it, and moves to a value file, in key
	// order, once no commits are in progress. A smaller threshold makes the database write such
	// values below 4 KiB about half as often, and makes gets of them up to twice and scans up to
	// ten times slower; docs/design/value-log.md has the curve. Compressible values go to
	// compressed tables whatever their size, unless Compression is CompressionNone. It must be at
	// least 64; a negative number keeps all values in tables. Default: 0, which means 4 KiB.
	ValueThreshold int

	// Key encrypts every file of the database, with AES-256: 32 bytes that nobody can guess, such as
	// random ones from a secret store; a password is not a key. It must be given whenever the
	// database is opened, from its creation on; otherwise the error is ErrKey. Nobody can read the
	// database without the key: keep a copy of it elsewhere. Encrypted files are not mapped, so
	// reads of what is not in memory cost more. docs/encryption.md says what it protects. Default:
	// nil, which does not encrypt. OpenMemory, which has no files, ignores it.
	Key []byte

	// LockTimeout is how long Open waits while another process has the database open. Default: 0,
	// which fails immediately with ErrLocked. Waiting smooths restarts, but delays the report that
	// another process is still running.
	LockTimeout time.Duration

	// Logger receives events of background work: flushes, compactions, recovery and failures. Its
	// handler must not use the database. Default: nil, which logs nothing.
	Logger *slog.Logger
}

// minValueThreshold is the minimum size of a value outside tables: for a smaller one, the pointer
// would take a large fraction of the value's size.
const minValueThreshold = 64

// minMemoryLimit is the smallest limit that makes flushes large enough for compactions to keep up.
const minMemoryLimit = 2 << 20

// SyncMode chooses when a commit is durable.
type SyncMode uint8

const (
	// SyncAlways makes every commit durable before it returns. Concurrent commits share syncs.
	SyncAlways SyncMode = iota
	// SyncNever returns from a commit without syncing. The commit becomes durable with [DB.Sync] or
	// [DB.Close], or when the system writes it back. A crash keeps a prefix of the commits, never
	// part of one.
	SyncNever
)

// Compression chooses how tables compress values.
type Compression uint8

const (
	// CompressionAuto compresses values that are likely to stay, where it saves enough. A sample
	// decides for each bucket: values that have much in common are encoded one by one, so that a
	// read decodes only one; others are compressed in blocks with Zstandard.
	CompressionAuto Compression = iota
	// CompressionNone stores every block uncompressed.
	CompressionNone
	// CompressionZstd compresses blocks with Zstandard wherever it saves enough.
	CompressionZstd
)

// compressions maps the public values to the engine's. It is immutable.
var compressions = [...]engine.Compression{
	CompressionAuto: engine.CompressionAuto,
	CompressionNone: engine.CompressionNone,
	CompressionZstd: engine.CompressionZstd,
}

// check returns an error naming the first invalid option, if any; o may be nil.
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
			"0, which means the default, or at least 2 MiB (2,097,152)")
	case o.ValueThreshold > 0 && o.ValueThreshold < minValueThreshold:
		return bad("ValueThreshold", o.ValueThreshold,
			"0, which means 4 KiB, at least 64, or negative to keep all values in tables")
	case o.Key != nil && len(o.Key) != cryptfs.KeyBytes: // the message must not have the key
		return fmt.Errorf("option Key has %d bytes: it must have %d, or be nil, which does not encrypt",
			len(o.Key), cryptfs.KeyBytes)
	case o.LockTimeout < 0:
		return bad("LockTimeout", o.LockTimeout, "0, which does not wait, or positive")
	}
	return nil
}

// engine converts o, which may be nil and has been checked, to the engine's options.
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
