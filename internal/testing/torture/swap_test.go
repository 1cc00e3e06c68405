package torture

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/testing/torture/crash"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// TestCrashSwap_losesNothingThatWasAcknowledged does to the folder of an open database what users
// do: it renames the folder, puts a copy in its place, and replaces the lock or other files by
// copies, at each operation of each workload, or at as many as -crash.points allows. What was
// acknowledged must be where it belongs, what was put in the place of the folder must stay as it
// is, and what no longer is the database's own must poison it before it acknowledges more.
func TestCrashSwap_losesNothingThatWasAcknowledged(t *testing.T) {
	for _, w := range workloads {
		if w.parallel {
			continue // as with faults
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
	away              // it is renamed
	another           // it is renamed, and a copy put in its place
	lock              // its lock file is replaced
	whole             // all its files are
	logs              // its log segments are
	journals          // its manifest and the copy of that are
	tables            // its tables are
	values            // its value files are
)

func (k swapKind) String() string {
	return [...]string{"nothing happens", "the folder is renamed", "another folder takes the place",
		"the lock is replaced", "all files are replaced", "the log is replaced",
		"the manifest is replaced", "the tables are replaced", "the value files are replaced"}[k]
}

// replaces reports whether a file with the given name is replaced by a copy.
func (k swapKind) replaces(name string) bool {
	parts := map[swapKind]string{lock: "LOCK", whole: "", logs: ".log", journals: "MANIFEST",
		tables: ".table", values: ".values"}
	part, ok := parts[k]
	return ok && strings.Contains(name, part)
}

// errGone keeps a workload from opening the database again after a swap.
var errGone = errors.New("it is not there any more")

// swap is a workload whose folder something happens to.
type swap struct {
	workload
	kind swapKind
	at   int64 // the operation, once the database is open

	disk       *memfs.FS
	operations atomic.Int64
	done       atomic.Bool
	failed     atomic.Pointer[error]
	copied     map[string]string // what was put in the place of the folder
	runner     *runner
}

// play runs the workload and looks at what it leaves.
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
	return s.finds()
}

// before does it, if it is its turn.
func (s *swap) before(op faultfs.Op) error {
	opens := op.Kind == faultfs.OpenFolder && op.Name == "db"
	if opens && s.done.Load() {
		return errGone
	}
	if opens || s.runner.db == nil || s.operations.Add(1) != s.at || s.kind == nothing {
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
			_ = s.disk.Replace(filepath.Join("db", name)) // it may be gone meanwhile
		}
	}
	return err
}

// putAnother renames the folder and puts a copy of it, of one moment, in its place.
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

// contentsOf returns what the files in the folder db hold, by their names.
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

// tolerate wants an error to say what has happened. A folder that was only renamed is no reason.
func (s *swap) tolerate(err error) error {
	switch {
	case errors.Is(err, errGone):
		return errStop
	case s.kind <= away || !errors.Is(err, vfs.ErrReplaced):
		return fmt.Errorf("an error of no known kind: %w", err)
	case !errors.Is(err, stoat.ErrPoisoned): // a job that is tried again
		return nil
	}
	if _, err := dumpDB(s.runner.db); err != nil && !errors.Is(err, stoat.ErrClosed) {
		return fmt.Errorf("reading a poisoned database: %w", err)
	}
	return errStop
}

// finds looks for what was acknowledged. Of a log without a name only what is durable was promised.
func (s *swap) finds() error {
	line, disk := s.runner.line, s.disk
	p := line.Promised(crash.All)
	if s.kind > another && s.options.Sync == stoat.SyncNever {
		p = line.Promised(crash.None)
	}
	if s.done.Load() && s.kind <= another {
		if got, err := contentsOf(disk); s.kind == another && err != nil {
			return err
		} else if s.kind == another && fmt.Sprint(got) != fmt.Sprint(s.copied) {
			return errors.New("the database in the place of the folder has changed")
		} else if s.kind == away && err == nil {
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
