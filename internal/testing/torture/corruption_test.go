package torture

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/testing/tuned"
	"github.com/stoatdb/stoat/internal/vfs"
)

var (
	corruptEvery = flag.Int("corrupt.every", 11,
		"flip one byte in so many, and cut at one length in so many")
	corruptBits = flag.Int("corrupt.bits", 1,
		"how many bits of such a byte to flip, one after the other")
	corruptSeed = flag.Uint64("corrupt.seed", 0, "seed for what is damaged; 0 draws one")
)

const (
	// caseBytes is how much opening and reading a damaged database may allocate.
	caseBytes = 64 << 20
	// caseTime is how long a case may take before it counts as hanging.
	caseTime = 30 * time.Second
)

// TestCorruption damages small databases in many ways. Opening and reading one must yield what was
// written, or an error that names the damaged file.
func TestCorruption(t *testing.T) {
	seed := *corruptSeed
	if seed == 0 {
		seed = rand.Uint64()>>16 + 1
	}
	d := &corruptor{
		T: t, rng: rand.New(rand.NewPCG(seed, 8)),
		counts: map[string]int{}, units: map[string][]int64{},
	}
	for _, s := range makeSamples(t) {
		d.sample = s
		for _, damages := range kindsOfDamage {
			damages(d)
		}
	}
	if t.Failed() {
		t.Logf("again with go test ./internal/testing/torture -run TestCorruption -corrupt.seed %d "+
			"-corrupt.every %d -corrupt.bits %d", seed, *corruptEvery, *corruptBits)
	}
	for _, noun := range []string{flippedBytes, cutLengths, damagedFiles} {
		t.Logf("trust: %d %s", d.counts[noun], noun)
	}
	t.Logf("noticed when opening %d, when reading %d; harmless %d; like a crash %d",
		d.counts["open"], d.counts["read"], d.counts["harmless"], d.counts["crash"])
}

// corruptor damages a sample in one way after another.
type corruptor struct {
	*testing.T
	*sample
	rng    *rand.Rand
	cases  int
	counts map[string]int
	units  map[string][]int64 // the offsets by sample and file that errors have named
}

// outcome is the result of one case.
type outcome struct {
	what string // where damage was noticed: open, read, harmless or crash
	err  error  // what is wrong
}

// damage tries the sample with some files changed, or removed if nil.
func (d *corruptor) damage(noun, what string, changes images) {
	if d.Failed() && d.counts["failures"] >= 10 {
		return
	}
	d.cases++
	d.counts[noun]++
	files := make(images, len(d.files))
	for name, data := range d.files {
		files[name] = data
	}
	for name, data := range changes {
		if files[name] = data; data == nil {
			delete(files, name)
		}
	}
	name := fmt.Sprintf("%s: %s", d.name, what)
	before := allocated()
	result := d.guard(name, func() outcome { return d.try(files) })
	if result.err == nil && allocated()-before > caseBytes {
		result.err = fmt.Errorf("%d bytes were allocated", allocated()-before)
	}
	if d.counts[result.what]++; result.err != nil {
		d.counts["failures"]++
		d.Errorf("%s: %v", name, result.err)
	}
}

// guard runs one case and ends the test if it hangs.
func (d *corruptor) guard(name string, fn func() outcome) outcome {
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		defer func() {
			if r := recover(); r != nil {
				o.err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
			}
			done <- o
		}()
		o = fn()
	}()
	timer := time.NewTimer(caseTime)
	defer timer.Stop()
	select {
	case o := <-done:
		return o
	case <-timer.C:
		d.Fatalf("%s: it hangs", name)
		return outcome{}
	}
}

// allocated returns how many bytes of heap have been allocated so far.
func allocated() uint64 {
	total := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(total)
	return total[0].Value.Uint64()
}

// try opens and reads damaged files. In some cases it first does so read-only, or with a
// compaction.
func (d *corruptor) try(files images) outcome {
	if d.cases%5 == 0 {
		if o := d.open(files, true, false); o.err != nil {
			o.err = fmt.Errorf("read-only: %w", o.err)
			return o
		}
	}
	if d.cases%7 == 0 {
		if o := d.open(files, false, true); o.err != nil {
			o.err = fmt.Errorf("with a compaction: %w", o.err)
			return o
		}
	}
	return d.open(files, false, false)
}

// open opens the files and reads everything.
func (d *corruptor) open(files images, readOnly, compact bool) outcome {
	fs, err := files.write()
	if err != nil {
		return outcome{err: err}
	}
	options := d.setting.options
	options.ReadOnly = readOnly
	db, err := tuned.Open(fs, "db", &options, d.setting.tuning)
	if err != nil {
		return outcome{"open", d.judge(err)}
	}
	o := d.readAll(db, files)
	if compact && o.err == nil {
		if err := db.Compact(context.Background()); err != nil {
			o.err = d.judge(err)
		}
		if again := d.readAll(db, files); o.err == nil {
			o.err = again.err
		}
	}
	if err := db.Close(); err != nil && o.err == nil {
		o.err = d.judge(err)
	}
	if compact && o.err == nil {
		o.err = d.openAgain(fs, files)
	}
	return o
}

// openAgain opens and reads a damaged database that was closed.
func (d *corruptor) openAgain(fs vfs.FS, files images) error {
	db, err := tuned.Open(fs, "db", &d.setting.options, d.setting.tuning)
	if err != nil {
		return d.judge(err)
	}
	o := d.readAll(db, files)
	if o.err != nil {
		o.err = fmt.Errorf("opened again: %w", o.err)
	}
	return errors.Join(o.err, d.judge(db.Close()))
}

// judge returns nil if err is nil or names a damaged file, which it records; otherwise it returns
// what is wrong with err.
func (d *corruptor) judge(err error) error {
	const inFolder = "db" + string(filepath.Separator)
	var place *corrupt.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, stoat.ErrFormat) && strings.Contains(err.Error(), inFolder):
		return nil
	case !errors.Is(err, stoat.ErrCorrupt):
		return fmt.Errorf("the error is not ErrCorrupt: %w", err)
	case !errors.As(err, &place) || !strings.HasPrefix(place.File, "db"):
		return fmt.Errorf("the error names no file: %w", err)
	}
	d.note(place)
	return nil
}

// readAll reads everything, compares it with the allowed states, and runs a check.
func (d *corruptor) readAll(db *stoat.DB, files images) outcome {
	oldest, newest := d.allowed(files)
	var damaged, wrong error
	for i := newest; i >= oldest; i-- {
		r := &reading{corruptor: d, db: db}
		r.bucket("", d.states[i])
		damaged = r.damaged
		if i == newest || r.wrong == nil {
			wrong = r.wrong
		}
		if wrong != nil {
			continue
		}
		o := outcome{what: "harmless", err: d.check(db, damaged)}
		if damaged != nil {
			o.what = "read"
		} else if i < len(d.states)-1 {
			o.what = "crash"
		}
		return o
	}
	return outcome{"", fmt.Errorf("states %d to %d are allowed: %w", oldest, newest, wrong)}
}

// check returns an error unless the check of the database finds the damage that reads found.
func (d *corruptor) check(db *stoat.DB, damaged error) error {
	err := db.Check(context.Background())
	if err == nil && damaged != nil {
		return fmt.Errorf("the check finds nothing, but a read: %w", damaged)
	}
	return d.judge(err)
}
