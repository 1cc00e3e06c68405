package torture

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// setting is a way to run a database. It changes nothing that users see except the speed.
type setting struct {
	name     string
	options  stoat.Options
	tuning   engine.Tuning
	files    medium
	volatile bool // a database in memory
	forced   int  // a flush or compaction every so many actions; 0 for none
	readOnly bool // reopening first opens read-only
}

// medium is where the files of a database are.
type medium uint8

const (
	inMemory    medium = iota // mapped
	crashable                 // in memory, in small pages
	notMapped                 // in memory, and read with ReadAt
	onDisk                    // mapped if possible, not synced
	onDiskNoMap               // read with ReadAt, not synced
)

// settings are what every plan runs under.
var settings = []setting{
	{name: "default"},
	{name: "unsynced", options: unsynced, forced: 9},
	{name: "eager", tuning: eager},
	{name: "eager-outside", options: outside, tuning: eager, forced: 5, readOnly: true},
	{name: "lazy", tuning: lazy, forced: 7},
	{name: "lazy-outside", options: unsyncedOutside, tuning: lazy, forced: 12, files: notMapped},
	{name: "scattered", options: outside, tuning: scattered},
	{name: "scattered-read-only", options: unsyncedOutside, tuning: scattered, readOnly: true},
	{name: "scattered-unmapped", options: outside, tuning: scattered, files: notMapped, forced: 4},
	{name: "unspilled", options: outside, tuning: unspilled},
	{name: "unspilled-in-tables", options: inTables, tuning: unspilled, forced: 10},
	{name: "none", options: uncompressed, tuning: lazy, readOnly: true, forced: 6},
	{name: "none-unmapped", options: uncompressed, tuning: eager, files: notMapped},
	{name: "zstd", options: zstdBlocks, tuning: lazy, forced: 6},
	{name: "zstd-tiny", options: zstdBlocks, tuning: eager, files: crashable},
	{name: "tiny-samples", options: inTables, tuning: sampled(3 << 10), forced: 3},
	{name: "small-samples", options: inTables, tuning: sampled(12 << 10), forced: 8},
	{name: "many-runs", options: inTables, tuning: layered, forced: 5},
	{name: "many-runs-outside", options: outside, tuning: layered, forced: 5, readOnly: true},
	{name: "journal", tuning: journaled, forced: 2},
	{name: "crashable", options: outside, tuning: roomy, files: crashable, forced: 15},
	{name: "small-memory", options: smallMemory, tuning: scattered, forced: 6},
	{name: "volatile", volatile: true},
	{name: "volatile-eager", options: outside, tuning: eager, volatile: true, forced: 7},
	{name: "volatile-none", options: uncompressed, tuning: scattered, volatile: true},
	{name: "disk", options: unsyncedOutside, tuning: unspilled, files: onDisk, readOnly: true},
	{name: "disk-unmapped", options: unsynced, tuning: roomy, files: onDiskNoMap},
}

var (
	inTables     = stoat.Options{ValueThreshold: -1}
	uncompressed = stoat.Options{ValueThreshold: -1, Compression: stoat.CompressionNone}
	zstdBlocks   = stoat.Options{ValueThreshold: -1, Compression: stoat.CompressionZstd}
	smallMemory  = stoat.Options{ValueThreshold: 64, MemoryLimit: 64 << 10}

	// layered keeps many young runs.
	layered = engine.Tuning{
		MemtableBytes: 8 << 10, SpillBytes: 4 << 10, TableBytes: 2 << 10, BlockBytes: 256,
		SampleBytes: 4 << 10, YoungRuns: 12, OwnRuns: 12, IdleAfter: time.Hour,
	}
	// journaled starts a new manifest with almost every edit.
	journaled = engine.Tuning{
		MemtableBytes: 16 << 10, TableBytes: 64 << 10, JournalBytes: 1, YoungRuns: 2,
		IdleAfter: time.Nanosecond,
	}
)

// sampled chooses the encoding of values from samples of so many bytes.
func sampled(bytes int) engine.Tuning {
	return engine.Tuning{
		MemtableBytes: 64 << 10, SpillBytes: 32 << 10, TableBytes: 16 << 10, BlockBytes: 512,
		SampleBytes: bytes, YoungRuns: 3, OwnRuns: 3, IdleAfter: time.Hour,
	}
}

const drawnPrefix = "drawn-"

// settingOf returns a setting by name: one of settings, or one drawn with a seed.
func settingOf(name string) (setting, error) {
	if seed, drawn := strings.CutPrefix(name, drawnPrefix); drawn {
		n, err := strconv.ParseUint(seed, 10, 64)
		return drawSetting(n), err
	}
	for _, s := range settings {
		if s.name == name {
			return s, nil
		}
	}
	return setting{}, fmt.Errorf("no setting has the name %q", name)
}

// drawSetting draws a setting.
func drawSetting(seed uint64) setting {
	rng := rand.New(rand.NewPCG(seed, 6))
	s := setting{
		name:     fmt.Sprint(drawnPrefix, seed),
		options:  *randomOptions(rng),
		tuning:   randomTuning(rng, nil),
		files:    medium(rng.IntN(int(notMapped) + 1)),
		volatile: rng.IntN(8) == 0,
		readOnly: rng.IntN(2) == 0,
	}
	if rng.IntN(2) == 0 {
		s.forced = 2 + rng.IntN(20)
	}
	return s
}

// database returns a new database under the setting, not yet open.
func (s setting) database(t testing.TB, clock *model.Clock) *dbStore {
	t.Helper()
	s.tuning.Now = clock.Now
	d := &dbStore{setting: s, dir: "db", rng: rand.New(rand.NewPCG(uint64(len(s.name)), 7))}
	switch s.files {
	case crashable:
		d.fs = memfs.NewCrashable()
	case notMapped:
		d.fs = unmapped{memfs.New()}
	case onDisk, onDiskNoMap:
		d.fs, d.dir = crash.Liar{FS: vfs.OS()}, filepath.Join(t.TempDir(), "db")
		if s.files == onDiskNoMap {
			d.fs = unmapped{d.fs}
		}
	default:
		d.fs = memfs.New()
	}
	return d
}

// unmapped is a file system that cannot map files.
type unmapped struct{ vfs.FS }

func (f unmapped) Create(name string) (vfs.File, error) { return unmap(f.FS.Create(name)) }

func (f unmapped) Open(name string) (vfs.File, error) { return unmap(f.FS.Open(name)) }

func (f unmapped) OpenFolder(dir string) (vfs.Folder, error) {
	folder, err := f.FS.OpenFolder(dir)
	if err != nil {
		return nil, err
	}
	return unmappedFolder{folder}, nil
}

// unmappedFolder is a folder that cannot map files.
type unmappedFolder struct{ vfs.Folder }

func (f unmappedFolder) Create(name string) (vfs.File, error) {
	return unmap(f.Folder.Create(name))
}

func (f unmappedFolder) Open(name string) (vfs.File, error) { return unmap(f.Folder.Open(name)) }

func unmap(file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return unmappedFile{file}, nil
}

// unmappedFile is a file that cannot be mapped.
type unmappedFile struct{ vfs.File }

func (unmappedFile) Map(int64) ([]byte, func() error, error) { return nil, nil, vfs.ErrNoMap }
