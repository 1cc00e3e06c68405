package torture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/engine"
	"github.com/stoatdb/stoat/internal/testing/model"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/tools/salvage"
	"github.com/stoatdb/stoat/internal/vfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// past is all that a database has ever held.
type past struct {
	values map[string]map[model.Entry]bool // what was committed, by path
	wrote  map[model.Entry]bool            // everything, committed or not, of any bucket
	// held has what was committed in each bucket, whatever its path was.
	held map[*model.Bucket]map[model.Entry]bool
}

func newPast() *past {
	return &past{
		make(map[string]map[model.Entry]bool), make(map[model.Entry]bool),
		make(map[*model.Bucket]map[model.Entry]bool),
	}
}

// setOf returns the set at a place, which it makes if there is none.
func setOf[P comparable](sets map[P]map[model.Entry]bool, place P) map[model.Entry]bool {
	if sets[place] == nil {
		sets[place] = make(map[model.Entry]bool)
	}
	return sets[place]
}

// note adds the current contents of a bucket.
func (p *past) note(path string, b *model.Bucket) {
	values, held := setOf(p.values, path), setOf(p.held, b.Origin())
	for _, e := range b.Scan("", "", false, 0) {
		values[e], held[e], p.wrote[e] = true, true, true
	}
	for _, name := range b.Buckets() {
		p.note(path+name+"/", b.Bucket(name))
	}
}

// played is a database that was used for a while and then closed or killed.
type played struct {
	disk   *memfs.FS
	clock  *model.Clock
	past   *past
	newest *model.Bucket
	loose  bool // transactions may have written to tables before their end
}

// playPast creates a random database in the folder "db".
func playPast(seed uint64) (*played, error) {
	clock := model.NewClock()
	disk := memfs.New()
	h := &history{
		generator: newGenerator(seed, clock), fs: disk, ref: model.New(clock),
		logger: slog.New(slog.DiscardHandler),
	}
	tuning := randomTuning(h.rng, clock)
	tuning.SpillBytes = 1 << 30
	db, err := tuned.Open(disk, "db", randomOptions(h.rng), tuning)
	if err != nil {
		return nil, err
	}
	h.db = db
	made := &played{clock: clock, past: newPast(), loose: seed%2 == 0}
	h.wrote = func(key, value string) { made.past.wrote[model.Entry{Key: key, Value: value}] = true }
	for step := range 30 + h.rng.IntN(60) {
		before := h.ref.Root()
		if err := made.step(h); err != nil {
			return nil, fmt.Errorf("step %d: %w", step, err)
		}
		if h.ref.Root() != before {
			made.past.note("/", h.ref.Root())
		}
	}
	killed := h.chance(2)
	if killed {
		disk = disk.CrashKeepAll()
	}
	for _, s := range h.snapshots {
		if err := s.tx.Rollback(); err != nil {
			return nil, err
		}
	}
	if err := h.db.Close(); err != nil {
		return nil, err
	}
	made.disk, made.newest = disk, h.ref.Root().By(clock.Stopped())
	return made, nil
}

// step does one random thing. Unless loose, no transaction writes to tables.
func (p *played) step(h *history) error {
	if p.loose {
		return h.step()
	}
	switch op := h.rng.IntN(20); {
	case op < 15:
		return h.update()
	case op < 18:
		return h.db.Flush()
	case op < 19:
		return h.db.Compact(context.Background())
	}
	h.wait()
	return nil
}

// salvageSizes are so small that the new database has several files of each kind.
func salvageSizes() salvage.Sizes {
	return salvage.Sizes{TableBytes: 8 << 10, BlockBytes: 512, Sample: 2 << 10, Separate: 256,
		FileBytes: 4 << 10}
}

// salvaged salvages "db" to "new" and returns the new contents.
func (p *played) salvaged(fs vfs.FS) (*stoat.SalvageReport, *model.Bucket, error) {
	report, err := tuned.Salvage(context.Background(), fs, "db", "new", salvageSizes())
	if err != nil {
		return nil, nil, err
	}
	db, err := tuned.Open(fs, "new", nil, engine.Tuning{Now: p.clock.Now})
	if err != nil {
		return nil, nil, err
	}
	all, err := dumpDB(db)
	if err == nil {
		err = idIsNew(db)
	}
	return report, all, errors.Join(err, db.Close())
}

// idIsNew checks that a new bucket in the database is empty.
func idIsNew(db *stoat.DB) error {
	return db.Update(func(tx *stoat.Tx) error {
		b, err := tx.CreateBucket([]byte("a bucket of another name"))
		if err != nil {
			return err
		}
		all := &model.Bucket{}
		if err := fill(all, b); err != nil {
			return err
		}
		if d := model.Diff(all, &model.Bucket{}); d != "" {
			return fmt.Errorf("in a new bucket: %s", d)
		}
		return tx.DeleteBucket([]byte("a bucket of another name"))
	})
}

func TestSalvage_copiesWhatIsNotDamaged(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()>>16 + 1
	for i := range uint64(8 / stride(2)) {
		p, err := playPast(seed + i)
		ok(t, err)
		before := filesIn(t, p.disk, "db")
		report, got, err := p.salvaged(p.disk)
		if err != nil {
			t.Fatalf("seed %d: %v", seed+i, err)
		}
		if d := model.Diff(got, p.newest); d != "" {
			t.Fatalf("seed %d: %s", seed+i, d)
		}
		if report.Lost() || len(report.Problems) > 0 {
			t.Fatalf("seed %d: the report is %+v", seed+i, report)
		}
		if !slices.EqualFunc(before, filesIn(t, p.disk, "db"), named.equal) {
			t.Fatalf("seed %d: the source has changed", seed+i)
		}
	}
}

// named is a file.
type named struct {
	name string
	data []byte
}

func (n named) equal(m named) bool { return n.name == m.name && bytes.Equal(n.data, m.data) }

// filesIn returns all files of a folder except the lock.
func filesIn(t testing.TB, fs vfs.FS, dir string) (all []named) {
	t.Helper()
	names, err := fs.List(dir)
	ok(t, err)
	for _, name := range names {
		if name == "LOCK" {
			continue
		}
		f, err := fs.Open(filepath.Join(dir, name))
		ok(t, err)
		size, err := f.Size()
		ok(t, err)
		data := make([]byte, size)
		if size > 0 {
			_, err = f.ReadAt(data, 0)
			ok(t, err)
		}
		ok(t, f.Close())
		all = append(all, named{name, data})
	}
	return all
}

// exchange replaces the contents of a file, or removes it if they are nil.
func exchange(t testing.TB, fs vfs.FS, name string, data []byte) {
	t.Helper()
	ok(t, fs.Remove(name))
	if data == nil {
		return
	}
	f, err := fs.Create(name)
	ok(t, err)
	_, err = f.WriteAt(data, 0)
	ok(t, err)
	ok(t, f.Close())
}

// damage damages a file at random. It reports whether the result may look like a crash and go
// unnoticed.
func damage(rng *rand.Rand, f named) (data []byte, what string, excused bool) {
	journal := strings.HasPrefix(f.name, "MANIFEST") || strings.HasSuffix(f.name, ".log")
	data = bytes.Clone(f.data)
	if len(data) == 0 {
		return nil, "removed", journal
	}
	switch rng.IntN(6) {
	case 0:
		return nil, "removed", journal
	case 1:
		n := rng.IntN(len(data))
		return data[:n], fmt.Sprint("cut to ", n), journal
	case 2:
		at := rng.IntN(len(data))
		n := min(len(data)-at, 1+rng.IntN(600))
		clear(data[at : at+n])
		return data, fmt.Sprintf("zeros at %d to %d", at, at+n), journal
	case 3:
		for range 5 {
			data[rng.IntN(len(data))] ^= byte(1 + rng.IntN(255))
		}
		return data, "5 bytes flipped", false
	}
	at := rng.IntN(len(data))
	data[at] ^= byte(1 + rng.IntN(255))
	return data, fmt.Sprint("flipped at ", at), false
}

func TestSalvage_ofDamagedDatabasesReturnsNothingWrong(t *testing.T) {
	t.Parallel()
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()>>16 + 1
	}
	n := 0
	for i := range uint64(6 / stride(2)) {
		p, err := playPast(seed + i)
		ok(t, err)
		rng := rand.New(rand.NewPCG(seed+i, 7))
		for range 20 {
			disk := p.disk.CrashKeepAll()
			files := filesIn(t, disk, "db")
			var what []string
			excused := false
			for range 1 + rng.IntN(3)*rng.IntN(2) {
				f := files[rng.IntN(len(files))]
				data, how, may := damage(rng, f)
				exchange(t, disk, filepath.Join("db", f.name), data)
				what, excused = append(what, f.name+" "+how), excused || may
				files = filesIn(t, disk, "db")
				n++
				if len(files) == 0 {
					break
				}
			}
			if err := p.checkDamaged(disk, excused); err != nil {
				t.Fatalf("-seed %d, history %d: %v: %v", seed, i, what, err)
			}
		}
	}
	t.Logf("trust: %d damaged files", n)
}

// checkDamaged salvages a damaged database and checks the result.
func (p *played) checkDamaged(disk vfs.FS, excused bool) error {
	report, got, err := p.salvaged(disk)
	if err != nil {
		if left, _ := disk.List("new"); len(left) > 0 {
			return fmt.Errorf("%q stay after %w", left, err)
		}
		if errors.Is(err, stoat.ErrCorrupt) && strings.Contains(err.Error(), "no file has a header") ||
			strings.Contains(err.Error(), "no file of a database") {
			return nil
		}
		return err
	}
	v := newVerdict(got, report)
	if err := p.past.has("/", got, p.newest, p.loose, v.mixed); err != nil {
		return fmt.Errorf("%w; the report: %v", err, report)
	}
	if !report.Lost() && len(report.Problems) == 0 && !excused {
		if d := model.Diff(got, p.newest); d != "" {
			return fmt.Errorf("without a word in the report: %s", d)
		}
	}
	if excused || report.Older || report.MoreRanges+report.MoreProblems > 0 {
		return nil
	}
	if err := v.isNewest(nil, got, p.newest); err != nil {
		return fmt.Errorf("%w; the report: %+v", err, report)
	}
	return nil
}

// has checks that each key of a bucket has a value that it once had: at that path or, because
// buckets move, in the bucket that is there last, or nil. If loose, the value may have been
// replaced in its own transaction or never committed. If mixed, the names of the buckets left are
// from different times, and a path may lead to any bucket.
func (p *past) has(path string, b, last *model.Bucket, loose, mixed bool) error {
	var held map[model.Entry]bool
	if last != nil {
		held = p.held[last.Origin()]
	}
	for _, e := range b.Scan("", "", false, 0) {
		known := p.values[path][e] || held[e]
		if loose || mixed && path != "/" || strings.HasPrefix(path, "/lost-") {
			known = p.wrote[e]
		}
		if !known {
			return fmt.Errorf("%s%q has a value that it never had, of %d bytes", path, e.Key,
				len(e.Value))
		}
	}
	for _, name := range b.Buckets() {
		var below *model.Bucket
		if last != nil {
			below = last.Bucket(name)
		}
		if err := p.has(path+name+"/", b.Bucket(name), below, loose, mixed); err != nil {
			return err
		}
	}
	return nil
}
