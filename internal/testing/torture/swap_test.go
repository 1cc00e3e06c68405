package torture

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCrashSwap_losesNothingThatWasAcknowledged does to the folder of an open database what users
// do: it renames the folder, puts a copy in its place, and replaces the lock or other files with
// copies. It does so at each operation of each workload, or at as many as -crash.points allows.
// Acknowledged commits must be where they belong, a folder in the database's place must stay
// unchanged, and the loss of its own files must poison the database before it acknowledges more.
func TestCrashSwap_losesNothingThatWasAcknowledged(t *testing.T) {
	for _, w := range workloads {
		if w.parallel {
			continue // as in TestCrashFault
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			untouched := &swap{workload: w}
			if err := untouched.play(); err != nil {
				t.Fatalf("without a swap: %v", err)
			}
			total := int(untouched.operations.Load())
			step := max(1, total/max(1, points()/16/len(workloads)))
			tried := 0
			for n := 1 + int(crashes.Seed)%step; n <= total; n += step {
				for kind := away; kind <= values; kind++ {
					s := &swap{workload: w, kind: kind, at: int64(n)}
					if err := s.play(); err != nil {
						t.Fatalf("at operation %d of %d, %v: %v\nagain with %s -crash.points %d",
							n, total, kind, err, crashes.Again("./internal/testing/torture", t.Name()), points())
					}
					tried++
				}
			}
			t.Logf("trust: %d swap points", tried)
		})
	}
}

// swapKind is what happens to the folder of an open database.
type swapKind int

const (
	nothing  swapKind = iota
	away              // the folder is renamed
	another           // the folder is renamed, and a copy takes its place
	lock              // the lock is replaced
	whole             // all files are replaced
	logs              // the log segments are replaced
	journals          // the manifest and its copy are replaced
	tables            // the tables are replaced
	values            // the value files are replaced
)

func (k swapKind) String() string {
	return [...]string{"nothing happens", "the folder is renamed", "another folder takes the place",
		"the lock is replaced", "all files are replaced", "the log is replaced",
		"the manifest is replaced", "the tables are replaced", "the value files are replaced"}[k]
}

// replaces reports whether the file with the name is replaced.
func (k swapKind) replaces(name string) bool {
	parts := map[swapKind]string{lock: "LOCK", whole: "", logs: ".log", journals: "MANIFEST",
		tables: ".table", values: ".values"}
	part, ok := parts[k]
	return ok && strings.Contains(name, part)
}

// errGone keeps a workload from reopening the database after a swap.
var errGone = errors.New("it is not there any more")

// swap is a workload during which something happens to the folder.
type swap struct {
	workload
	kind swapKind
	at   int64 // the number of the operation since opening

	disk       *memfs.FS
	operations atomic.Int64
	done       atomic.Bool
	failed     atomic.Pointer[error]
	copied     map[string]string // the files in the folder's place
	runner     *runner

	killOnce sync.Once
	killed   *memfs.FS // the disk of the process killed a while after the swap, or nil
	line     *timeline // until then
	promised crash.Promise
}

// play runs the workload and checks the result.
func (s *swap) play() error {
	s.disk = memfs.NewCrashable()
	s.runner = &runner{
		workload: s.workload, seed: crashes.Seed, line: newTimeline(), tolerate: s.tolerate,
		fs: faultfs.New(s.disk, s.before),
	}
	if err := s.runner.start(); err != nil && !errors.Is(err, errStop) {
		return err
	}
	if failed := s.failed.Load(); failed != nil {
		return *failed
	}
	if s.killed != nil {
		if err := s.finds(s.killed, s.line, s.promised); err != nil {
			return fmt.Errorf("killed a while later: %w", err)
		}
	}
	if s.done.Load() && s.kind == another {
		if got, err := contentsOf(s.disk); err != nil {
			return err
		} else if fmt.Sprint(got) != fmt.Sprint(s.copied) {
			return errors.New("the database in the place of the folder has changed")
		}
	}
	line := s.runner.line
	return s.finds(s.disk, line, s.promise(line.Promised(crash.All)))
}

// killDelay is how many operations after the swap the process is killed.
const killDelay = 25

// promise returns what was promised of the disk, if p was promised of one that keeps everything. Of
// a log that lost its name, only what is durable was promised.
func (s *swap) promise(p crash.Promise) crash.Promise {
	if s.kind > another && s.options.Sync == stoat.SyncNever {
		p.Oldest = s.runner.line.Promised(crash.None).Oldest
	}
	return p
}

// kill keeps a copy of the disk as it is when the process is killed, and the states by then, of
// which the workload may take back the newest.
func (s *swap) kill() {
	s.killOnce.Do(func() {
		line := s.runner.line
		p := s.promise(line.Promised(crash.All))
		s.killed = s.disk.Kill()
		s.line = newTimeline()
		s.line.clock = line.clock
		for _, state := range line.Until(line.Begun())[1:] {
			p.Newest = s.line.Commit(state)
		}
		s.promised = p
	})
}

// before makes the swap if it is its turn.
func (s *swap) before(op faultfs.Op) error {
	opens := op.Kind == faultfs.OpenFolder && op.Name == "db"
	if opens && s.done.Load() {
		return errGone
	}
	if opens || s.runner.db == nil {
		return nil
	}
	n := s.operations.Add(1)
	if s.done.Load() && n >= s.at+killDelay {
		s.kill()
	}
	if n != s.at || s.kind == nothing {
		return nil
	}
	if err := s.swap(); err != nil {
		s.failed.Store(&err)
	}
	s.done.Store(true)
	return nil
}

func (s *swap) swap() error {
	switch s.kind {
	case away:
		return s.disk.Rename("db", "moved")
	case another:
		return s.putAnother()
	}
	names, err := s.disk.List("db")
	for _, name := range names {
		if s.kind.replaces(name) {
			_ = s.disk.Replace(filepath.Join("db", name)) // it may have been removed
		}
	}
	return err
}

// putAnother renames the folder and puts a copy in its place.
func (s *swap) putAnother() error {
	left := s.disk.Kill()
	if err := errors.Join(s.disk.Rename("db", "moved"), s.disk.MkdirAll("db")); err != nil {
		return err
	}
	var err error
	if s.copied, err = contentsOf(left); err != nil {
		return err
	}
	for name, content := range s.copied {
		file, err := s.disk.Create(filepath.Join("db", name))
		if err != nil {
			return err
		}
		_, err = file.WriteAt([]byte(content), 0)
		if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
			return err
		}
	}
	return s.disk.SyncDir("db")
}

// contentsOf returns the contents of the files in the folder "db" by name.
func contentsOf(disk vfs.FS) (map[string]string, error) {
	names, err := disk.List("db")
	all := make(map[string]string)
	for _, name := range names {
		content, readErr := textOf(disk, filepath.Join("db", name))
		all[name], err = content, errors.Join(err, readErr)
	}
	return all, err
}

func textOf(disk vfs.FS, path string) (string, error) {
	file, err := disk.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	size, err := file.Size()
	p := make([]byte, size)
	if size > 0 && err == nil {
		_, err = file.ReadAt(p, 0)
	}
	return string(p), err
}

// tolerate checks that an error names the swap as its cause. Renaming the folder is no reason to
// fail.
func (s *swap) tolerate(err error) error {
	switch {
	case errors.Is(err, errGone):
		return errStop
	case s.kind <= away || !errors.Is(err, vfs.ErrReplaced):
		return fmt.Errorf("an error of no known kind: %w", err)
	case !errors.Is(err, stoat.ErrPoisoned): // a job that will be retried
		return nil
	}
	if _, err := dumpDB(s.runner.db); err != nil && !errors.Is(err, stoat.ErrClosed) {
		return fmt.Errorf("reading a poisoned database: %w", err)
	}
	return errStop
}

// finds checks that a disk, which it may change, is in one of the promised states.
func (s *swap) finds(disk *memfs.FS, line *timeline, p crash.Promise) error {
	if s.done.Load() && s.kind <= another {
		if _, err := contentsOf(disk); s.kind == away && err == nil {
			return errors.New("there is a folder with the old name")
		}
		disk = disk.Kill()
		if s.kind == another {
			if err := disk.Rename("db", "other"); err != nil {
				return err
			}
		}
		if err := disk.Rename("moved", "db"); err != nil {
			return err
		}
	}
	db, got, err := recovered(disk, s.workload, line.clock)
	if err != nil {
		return err
	}
	_, err = line.match(got, p, line.clock)
	return errors.Join(err, db.Close())
}
