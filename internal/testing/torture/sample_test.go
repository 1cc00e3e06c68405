package torture

import (
	"bytes"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
	"github.com/stoatdb/stoat/internal/wal"
)

// images are the contents of files by name.
type images map[string][]byte

// sample is a small database to be damaged: its files, and what is known about them.
type sample struct {
	name    string
	setting setting
	files   images
	states  []*model.Bucket // after each commit
	frames  []frame         // of the log that opening replays
	edits   []frame         // of the manifest, starting with its snapshot
}

// frame is a part of a file that was written and synced at once, after everything before it.
type frame struct {
	file     string
	from, to int64
	commit   int // its commit; 0 in the manifest
}

// keepApart makes small tables and blocks, and leaves runs as flushed.
var keepApart = engine.Tuning{
	MemtableBytes: 256 << 10, TableBytes: 1 << 10, BlockBytes: 256, SampleBytes: 4 << 10,
	ValueBytes: 700, Garbage: 1 << 20, YoungRuns: 100, OwnRuns: 100, IdleAfter: time.Hour,
}

// sampleSpecs describe the samples. Together they have every kind of file and block.
var sampleSpecs = []struct {
	name    string
	options stoat.Options
	closed  bool
	stuck   bool // no table can be written, so everything stays in the log
	plan    string
}{
	{name: "tables", options: inTables, closed: true, plan: `
		create key="e"
		fill in="e" key="event" value=event:40:1 n=24
		fill key="text" value=text:70:1 n=12
		fill key="noise" value=noise:40:1 n=6
		put key="empty"
		next in="e"
		flush
		delete key="text0003"
		deleterange key="noise0002" end="noise0004"
		expire key="late" value=text:20:3 n=100000000
		create in="e" key="inner"
		put in="e/inner" key="k" value=noise:90:3
		create key="r"
		fill in="r" key="noise" value=noise:90:1 n=6`},
	{name: "zstd", options: zstdBlocks, closed: true, plan: `
		fill key="text" value=text:300:1 n=8
		fill key="k" value=event:60:1 n=8
		compact`},
	{name: "outside", options: outside, closed: true, plan: `
		fill key="old" value=noise:100:1 n=10
		put key="small" value=text:10:1
		compact
		fill key="new" value=noise:90:50 n=9
		put key="old0003" value=text:200:2
		flush`},
	{name: "unclosed", options: outside, plan: `
		fill key="old" value=noise:80:1 n=4
		create key="b"
		create key="c"
		put in="c" key="dropped" value=noise:80:1
		compact
		fill in="b" key="young" value=event:40:50 n=3
		deleterange key="old0001" end="old0002"
		flush
		put key="a" value=noise:70:1
		put key="b" value=text:20:1
		delete key="old0000"
		drop key="c"
		put key="c" value=text:90:1`},
	{name: "logs", stuck: true, plan: `
		fill key="first" value=event:60:1 n=3
		put key="a" value=noise:90:1
		create key="b"
		flush
		put in="b" key="second" value=noise:60:1
		delete key="a"
		flush
		put in="b" key="third" value=text:50:1
		deleterange key="first0001"`},
}

// makeSamples builds all samples.
func makeSamples(t testing.TB) (samples []*sample) {
	t.Helper()
	for _, spec := range sampleSpecs {
		s := &sample{name: spec.name}
		s.setting = setting{name: spec.name, options: spec.options, tuning: keepApart}
		p, err := parsePlan(strings.ReplaceAll(spec.plan, "\t", ""))
		ok(t, err)
		files := s.build(t, p, spec.closed, spec.stuck)
		s.files = read(t, files)
		ok(t, s.findFrames(files))
		samples = append(samples, s)
	}
	return samples
}

// build performs a plan of single writes and returns the resulting files.
func (s *sample) build(t testing.TB, p plan, closed, stuck bool) *memfs.FS {
	t.Helper()
	clock := model.NewClock()
	ref := &modelStore{clock: clock}
	ok(t, ref.open())
	s.states = append(s.states, ref.db.Root())
	db := s.setting.database(t, clock)
	s.setting = db.setting // with the clock
	disk := db.fs.(*memfs.FS)
	if stuck {
		db.fs = faultfs.New(disk, failTables)
	}
	ok(t, db.open())
	right, played := &performance{store: ref, clock: clock}, &performance{store: db, clock: clock}
	for _, a := range p {
		got, want := played.do(a), right.do(a)
		if slices.Contains(writeVerbs, a.verb) {
			equal(t, got, want)
			s.states = append(s.states, ref.db.Root())
		}
	}
	files := disk.CrashKeepAll()
	err := db.close()
	if !stuck {
		ok(t, err)
	}
	if closed {
		return disk
	}
	return files
}

// failTables makes the creation of tables fail.
func failTables(op faultfs.Op) error {
	if op.Kind == faultfs.Create && strings.HasSuffix(op.Name, ".table") {
		return errBroken
	}
	return nil
}

// read returns the files of the database on fs, except the lock, and without most of the zeros at
// the ends of logs.
func read(t testing.TB, fs vfs.FS) images {
	t.Helper()
	all := images{}
	names, err := fs.List("db")
	ok(t, err)
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		file, err := fs.Open(filepath.Join("db", name))
		ok(t, err)
		size, err := file.Size()
		ok(t, err)
		data := make([]byte, size)
		_, err = file.ReadAt(data, 0)
		ok(t, err)
		ok(t, file.Close())
		if used := len(bytes.TrimRight(data, "\x00")); strings.HasSuffix(name, ".log") {
			data = data[:min(used+50, len(data))]
		}
		all[name] = data
	}
	return all
}

// write returns a file system with a database of these files.
func (files images) write() (*memfs.FS, error) {
	fs := memfs.New()
	if err := fs.MkdirAll("db"); err != nil {
		return nil, err
	}
	for name, data := range files {
		if err := writeFile(fs, filepath.Join("db", name), data); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

func writeFile(fs vfs.FS, name string, data []byte) error {
	file, err := fs.Create(name)
	if err != nil {
		return err
	}
	if _, err := file.WriteAt(data, 0); err != nil {
		return err
	}
	return file.Close()
}

func TestSamples_haveEveryKind(t *testing.T) {
	found := map[string]bool{}
	for _, s := range makeSamples(t) {
		for name := range s.files {
			found["a file "+strings.Trim(name, "0123456789.")] = true
		}
		fs, err := s.files.write()
		ok(t, err)
		db, err := tuned.Open(fs, "db", &s.setting.options, s.setting.tuning)
		ok(t, err)
		stats := db.Stats()
		found["a young run"] = found["a young run"] || stats.YoungRuns > 0
		found["edits"] = found["edits"] || len(s.edits) > 2
		found["frames"] = found["frames"] || len(s.frames) > 2
		found["several logs"] = found["several logs"] || len(s.frames) > 0 && s.count(".log") > 2
		inLog := stats.ValueFiles > s.count(".values")
		found["values in the log"] = found["values in the log"] || inLog
		view(t, db, func(tx *stoat.Tx) {
			spaces := []stoat.KeySpace{tx}
			for name := range tx.Buckets() {
				spaces = append(spaces, bucket(t, tx, string(name)))
			}
			for _, b := range spaces {
				m, err := b.Stats()
				ok(t, err)
				found["zstd"] = found["zstd"] || m.ZstdBytes > 0
				found["pattern"] = found["pattern"] || m.PatternBytes > 0
				found["plain"] = found["plain"] || m.StoredBytes > m.ZstdBytes+m.PatternBytes
			}
		})
		ok(t, db.Close())
	}
	for _, want := range []string{
		"a file MANIFEST-", "a file log", "a file table", "a file values", "a young run", "edits",
		"frames", "several logs", "values in the log", "zstd", "pattern", "plain",
	} {
		if !found[want] {
			t.Errorf("no sample has %s", want)
		}
	}
}

// count returns how many of the sample's files have the suffix.
func (s *sample) count(suffix string) (n int) {
	for name := range s.files {
		if strings.HasSuffix(name, suffix) {
			n++
		}
	}
	return n
}

// findFrames finds the frames of the manifest and the log.
func (s *sample) findFrames(fs vfs.FS) error {
	state, err := manifest.Load(fs, "db")
	if err != nil {
		return err
	}
	if err := s.findEdits(folder.Manifest.Name(state.Number)); err != nil {
		return err
	}
	newest := state.Version.LastCommit
	for _, name := range slices.Sorted(maps.Keys(s.files)) {
		kind, number := folder.Parse(name)
		if kind != folder.Log || number < state.Version.LogNumber {
			continue
		}
		note := func(commit uint64, payloads []wal.Payload) error {
			last := payloads[len(payloads)-1]
			from, to := payloads[0].At-wal.HeaderBytes, last.At+int64(len(last.Bytes))
			s.frames = append(s.frames, frame{name, from, to, int(commit)})
			return nil
		}
		newest, err = wal.Replay(fs, "db", number, state.Database, newest, note)
		if err != nil {
			return err
		}
	}
	return nil
}

// findEdits finds the frames of the manifest: the sizes at which it can be cut without a torn tail.
func (s *sample) findEdits(name string) error {
	data := s.files[name]
	from := int64(0)
	for size := 1; size <= len(data); size++ {
		cut, err := images{name: data[:size]}.write()
		if err != nil {
			return err
		}
		if state, err := manifest.Load(cut, "db"); err == nil && !state.Torn {
			s.edits = append(s.edits, frame{file: name, from: from, to: int64(size)})
			from = int64(size)
		}
	}
	return nil
}

// allowed returns the oldest and the newest state that a read of the damaged files may show: the
// newest, unless the damage looks like a crash, which requires that nothing written later is
// intact. A lost edit of the manifest may lose any number of commits, or be noticed.
func (s *sample) allowed(files images) (oldest, newest int) {
	newest = len(s.states) - 1
	if n := s.whole(s.edits, files); n > 0 && n < len(s.edits) {
		return 0, newest
	}
	if n := s.whole(s.frames, files); n >= 0 && n < len(s.frames) {
		newest = s.frames[n].commit - 1
	}
	return newest, newest
}

// whole returns how many frames are intact, or -1 if an intact one follows one that is not.
func (s *sample) whole(frames []frame, files images) int {
	n := 0
	for i, f := range frames {
		now := files[f.file]
		if int64(len(now)) < f.to || !bytes.Equal(now[f.from:f.to], s.files[f.file][f.from:f.to]) {
			continue
		}
		if n++; n != i+1 {
			return -1
		}
	}
	return n
}
