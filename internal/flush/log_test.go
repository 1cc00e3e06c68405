package flush

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/keyspace"
	"github.com/stoatdb/stoat/internal/manifest"
	"github.com/stoatdb/stoat/internal/memtable"
	"github.com/stoatdb/stoat/internal/run"
	"github.com/stoatdb/stoat/internal/valuelog"
	"github.com/stoatdb/stoat/internal/wal"
)

// logged is a memtable with its log segment.
type logged struct {
	*store
	number  uint64
	segment *wal.Segment
	mem     *memtable.Memtable
	root    memtable.Root
	commits uint64
}

// log starts a segment and a memtable.
func (s *store) log() *logged {
	s.t.Helper()
	number := s.nextNumber()
	segment, err := wal.Create(s.files, testDir, number, testDatabase())
	check(s.t, err)
	return &logged{store: s, number: number, segment: segment, mem: memtable.New(wal.HeaderBytes)}
}

// commit writes a transaction.
func (l *logged) commit(fill func(e *memtable.Edit)) {
	l.t.Helper()
	e := l.mem.Begin()
	fill(e)
	l.commits++
	l.segment.Append(e.TakeFrames(l.segment.Size()), l.commits, true)
	_, err := l.segment.Write(wal.Written)
	check(l.t, err)
	l.root = e.Commit()
}

// rollback writes a transaction that is abandoned with some of it in the log.
func (l *logged) rollback(fill func(e *memtable.Edit)) {
	l.t.Helper()
	e := l.mem.Begin()
	fill(e)
	l.segment.Append(e.TakeFrames(l.segment.Size()), l.commits+1, false)
	_, err := l.segment.Write(wal.Written)
	check(l.t, err)
	l.segment.Abort()
	fill(e)
	e.Rollback()
}

// put commits one value of n bytes.
func (l *logged) put(key string, n int) {
	l.t.Helper()
	l.commit(func(e *memtable.Edit) { e.PutUntil([]byte(key), filled(key, n), 0) })
}

// filled returns n bytes that depend on the key.
func filled(key string, n int) []byte {
	return bytes.Repeat([]byte(key+" "), n/len(key)+1)[:n]
}

// seal closes the segment and returns the job that flushes the memtable.
func (l *logged) seal() Job {
	l.t.Helper()
	check(l.t, l.segment.Close())
	j := l.job(nil)
	j.Root = l.root
	j.Log = manifest.ValueFile{Number: l.number, Size: uint64(l.segment.Size()), Log: true}
	return j
}

// replay returns the memtable that replaying the sealed segment yields.
func (l *logged) replay() memtable.Root {
	l.t.Helper()
	m := memtable.New(wal.HeaderBytes)
	var root memtable.Root
	_, err := wal.Replay(l.files, testDir, l.number, testDatabase(), 0,
		func(_ uint64, payloads []wal.Payload) error {
			e := m.Begin()
			for _, p := range payloads {
				if err := e.Replay(p.Bytes, p.At); err != nil {
					return err
				}
			}
			root = e.Commit()
			return nil
		})
	check(l.t, err)
	return root
}

// image returns the contents of the segment's file.
func (l *logged) image() []byte {
	l.t.Helper()
	f, err := l.files.Open(filepath.Join(testDir, folder.Log.Name(l.number)))
	check(l.t, err)
	data := make([]byte, l.segment.Size())
	_, err = f.ReadAt(data, 0)
	check(l.t, err)
	return data
}

const separate = 100 // from so many bytes on a test's values are large

// newValueStore returns a store that separates values.
func newValueStore(t testing.TB) *store {
	t.Helper()
	s := newStore(t)
	s.values = run.Values{Separate: separate, FileBytes: 1000}
	return s
}

// valueFiles returns how many value files there are.
func (s *store) valueFiles() (n int) {
	s.t.Helper()
	for _, name := range s.list() {
		if kind, _ := folder.Parse(name); kind == folder.Values {
			n++
		}
	}
	return n
}

// largeRun fills a log with mostly large values, some of them written more than once, and returns
// what the memtable says.
func largeRun(l *logged) writes {
	l.t.Helper()
	w := writes{}
	for i := range 50 {
		key := dataKey(7, fmt.Sprintf("key%04d", i*7%40))
		l.commit(func(e *memtable.Edit) {
			for _, n := range []int{i, separate - 1, separate, 3*separate + i}[i%4:] {
				w[key] = filled(key, n)
				e.PutUntil([]byte(key), w[key], 0)
				key += "+"
			}
			e.Delete([]byte(key))
			w[key] = nil
		})
		l.rollback(func(e *memtable.Edit) { e.PutUntil([]byte(key), filled("not "+key, 20), 0) })
	}
	return w
}

func TestDo_leavesLargeValuesInTheLog(t *testing.T) {
	for _, replayed := range []bool{false, true} {
		s := newValueStore(t)
		s.flush(span(1, 60)) // so that the run is a young one
		l := s.log()
		want := largeRun(l)
		j := l.seal()
		if replayed {
			j.Root = l.replay()
		}
		edit := s.run(j)
		checkSame(t, "tables", s.read(young(edit)), want)
		image, large, bytesInLog := l.image(), uint64(0), uint64(0)
		for key, e := range s.stored(young(edit)) {
			if (e.Kind == keyspace.KindPointer) != (len(want[key]) >= separate) {
				t.Errorf("a value of %d bytes is of kind %d", len(want[key]), e.Kind)
			}
			if e.Kind == keyspace.KindPointer {
				p, err := valuelog.ParsePointer(e.Value)
				check(t, err)
				if p.File != l.number || !bytes.HasPrefix(image[p.Offset:], want[key]) {
					t.Errorf("the value of %q is not at %d in file %d", key, p.Offset, p.File)
				}
				large, bytesInLog = large+1, bytesInLog+uint64(p.Length)
			}
		}
		live := j.Log
		live.Count, live.Live = large, bytesInLog
		if !slices.Equal(s.version.ValueFiles, []manifest.ValueFile{live}) || large < 40 ||
			s.valueFiles() > 0 {
			t.Errorf("value files are %+v, want %+v", s.version.ValueFiles, live)
		}
	}
}

// The catalog and the data go to different runs, and both point into the log.
func TestDo_leavesLargeValuesOfTheCatalogInTheLog(t *testing.T) {
	s := newValueStore(t)
	s.flush(span(1, 60))
	l := s.log()
	name, key := catalogKey(7, 8), dataKey(7, "key0030")
	l.put(name, 500)
	l.put(key, 600)
	edit := s.run(l.seal())
	want := writes{name: filled(name, 500), key: filled(key, 600)}
	checkSame(t, "tables", s.read(tables(edit)), want)
	if len(young(edit)) != 1 || len(edit.AddBottom) != 1 || s.version.ValueFiles[0].Count != 2 {
		t.Errorf("the edit is %+v, value files are %+v", edit, s.version.ValueFiles)
	}
}

func TestDo_writesLargeValuesThatAreLessThanHalfOfTheLog(t *testing.T) {
	for _, c := range []struct {
		logBytes uint64 // more than twice the large values
		inLog    bool
	}{{0, true}, {1, true}, {2, false}, {5000, false}} {
		s := newValueStore(t)
		l := s.log()
		want := writes{}
		for i, n := range []int{separate, separate - 1, 300, 0} {
			key := dataKey(7, fmt.Sprint("key", i))
			l.put(key, n)
			want[key] = filled(key, n)
		}
		j := l.seal()
		j.Log.Size = max(2*(separate+300)+c.logBytes, j.Log.Size)
		if j.Log.Size != 2*(separate+300)+c.logBytes {
			t.Fatalf("the log has %d bytes already", j.Log.Size)
		}
		check(t, extend(l, int64(j.Log.Size)))
		edit := s.run(j)
		checkSame(t, "tables", s.read(edit.AddBottom), want)
		f := s.version.ValueFiles
		if len(f) != 1 || f[0].Log != c.inLog || f[0].Count != 2 ||
			(s.valueFiles() == 0) != c.inLog {
			t.Errorf("%+v: value files are %+v", c, f)
		}
	}
}

// extend lengthens a sealed segment, as a garbage frame would.
func extend(l *logged, size int64) error {
	path := filepath.Join(testDir, folder.Log.Name(l.number))
	image := append(l.image(), make([]byte, size-l.segment.Size())...)
	if err := l.files.Remove(path); err != nil {
		return err
	}
	f, err := l.files.Create(path)
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(image, 0); err != nil {
		return err
	}
	return f.Close()
}

// Values that a later write or deletion hides are garbage in the log.
func TestDo_countsOnlyWhatIsThereOfTheLog(t *testing.T) {
	key, others := dataKey(7, "b"), []byte(dataKey(7, "c"))
	for name, hide := range map[string]func(e *memtable.Edit){
		"overwritten": func(e *memtable.Edit) { e.PutUntil(others, []byte("small"), 0) },
		"deleted":     func(e *memtable.Edit) { e.Delete(others) },
		"range deleted": func(e *memtable.Edit) {
			e.DeleteRange(keyspace.Span{Start: others, End: []byte("\xFF")})
		},
	} {
		s := newValueStore(t)
		l := s.log()
		l.put(key, 2000)
		l.put(string(others), 5000)
		l.commit(hide)
		s.run(l.seal())
		f := s.version.ValueFiles
		if len(f) != 1 || f[0].Log || f[0].Live != 2000 {
			t.Errorf("%s: value files are %+v", name, f)
		}
		if got := s.visible(); !bytes.Equal(got[key], filled(key, 2000)) {
			t.Errorf("%s: the value has %d bytes", name, len(got[key]))
		}
	}
}

func TestDo_writesLargeValuesToFilesWithoutALog(t *testing.T) {
	for name, change := range map[string]func(j *Job){
		"no log":             func(j *Job) { j.Log = manifest.ValueFile{} },
		"not in the log":     func(*Job) {},
		"nothing is to move": func(j *Job) { j.Output.Values.Separate = 0 },
	} {
		s := newValueStore(t)
		l := s.log()
		e := l.mem.Begin() // its frames are never taken
		want := writes{}
		for i := range 30 {
			key := dataKey(7, fmt.Sprintf("key%04d", i))
			want[key] = filled(key, 4*i)
			e.PutUntil([]byte(key), want[key], 0)
		}
		l.root = e.Commit()
		j := l.seal()
		change(&j)
		edit := s.run(j)
		checkSame(t, name, s.read(edit.AddBottom), want)
		moved := uint64(0)
		for _, f := range s.version.ValueFiles {
			moved += f.Count
			if f.Log {
				t.Errorf("%s: a table points into the log", name)
			}
		}
		if want := map[int]uint64{0: 0, separate: 5}[j.Output.Values.Separate]; moved != want {
			t.Errorf("%s: %d values are in files, want %d", name, moved, want)
		}
	}
}
