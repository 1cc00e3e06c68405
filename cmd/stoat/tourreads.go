package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// getsReport is how long lookups took. The median is that of single gets; gets of values that are
// no longer in memory make the mean larger.
type getsReport struct {
	Gets        int     `json:"gets"`
	Seconds     float64 `json:"seconds"`
	NanosPerGet float64 `json:"nanosPerGet"`
	MedianNanos float64 `json:"medianNanos"`
}

// scanReport is how long a pass over entries took.
type scanReport struct {
	Prefix  string  `json:"prefix,omitempty"`
	Keys    int     `json:"keys"`
	Bytes   int64   `json:"bytes"` // of keys and, if they were read, values
	Seconds float64 `json:"seconds"`
}

// The gets after the first of each key end with one of these.
const (
	getsMax     = 200_000
	getsTimeMax = time.Second
	getsAtOnce  = 512 // in one transaction
)

// gets looks up each file in random order right after opening, and then many of them again.
func (t *tour) gets() error {
	rng := rand.New(rand.NewPCG(1, 2)) // the same order in every tour
	files := make([]sourceFile, len(t.tree.files))
	for i, from := range rng.Perm(len(files)) {
		files[i] = t.tree.files[from]
	}
	first, err := t.lookUp(nil, files)
	if err != nil {
		return err
	}
	t.report.FirstGets = newGetsReport(first)

	started := time.Now()
	var again []time.Duration
	for len(again) < getsMax && time.Since(started) < getsTimeMax {
		some := make([]sourceFile, getsAtOnce)
		for i := range some {
			some[i] = files[rng.IntN(len(files))]
		}
		if again, err = t.lookUp(again, some); err != nil {
			return err
		}
	}
	t.report.Gets = newGetsReport(again)
	return t.getsRows(len(files))
}

// newGetsReport returns the report of gets that took so long.
func newGetsReport(took []time.Duration) getsReport {
	var total time.Duration
	for _, d := range took {
		total += d
	}
	n := max(1, len(took))
	slices.Sort(took)
	r := getsReport{Gets: len(took), Seconds: total.Seconds()}
	r.NanosPerGet = float64(total.Nanoseconds()) / float64(n)
	if len(took) > 0 {
		r.MedianNanos = float64(took[n/2].Nanoseconds())
	}
	return r
}

// getsRows prints the first gets and the later ones.
func (t *tour) getsRows(keys int) error {
	first, again := t.report.FirstGets, t.report.Gets
	what := progress.Counted(int64(keys), "key") + ", each once"
	err := t.row("3", "random gets, cold", what, progress.Duration(seconds(first.Seconds)),
		nanos(first.NanosPerGet)+" each")
	if err != nil {
		return err
	}
	what = progress.Counted(int64(again.Gets), "get")
	err = t.row("", "random gets, warm", what, progress.Duration(seconds(again.Seconds)),
		nanos(again.MedianNanos)+" median")
	if err != nil {
		return err
	}
	return t.row("", "", "mean of all of them", "", nanos(again.NanosPerGet)+" each")
}

// nanos returns a duration in nanoseconds as text.
func nanos(v float64) string { return progress.Count(int64(v)) + " ns" }

// lookUp gets the values of the files, checks their lengths, and appends how long each get took.
func (t *tour) lookUp(took []time.Duration, files []sourceFile) ([]time.Duration, error) {
	err := t.db.View(func(tx *stoat.Tx) error {
		key := make([]byte, 0, 256)
		for i := range files {
			key = append(key[:0], files[i].name...)
			started := time.Now()
			value, err := tx.Get(key)
			took = append(took, time.Since(started))
			if err != nil {
				return fmt.Errorf("%s: %w", files[i].name, err)
			}
			if int64(len(value)) != files[i].size {
				return fmt.Errorf("%s: %d bytes came back of %d stored", files[i].name, len(value),
					files[i].size)
			}
		}
		return nil
	})
	return took, err
}

// prefixScan reads the files of one folder and its subfolders, and counts their lines, which
// touches every byte.
func (t *tour) prefixScan() error {
	prefix := t.tree.prefix()
	r := scanReport{Prefix: prefix}
	lines := 0
	started := time.Now()
	err := t.db.View(func(tx *stoat.Tx) error {
		for key, value := range tx.Scan(stoat.Prefix([]byte(prefix))) {
			r.Keys++
			r.Bytes += int64(len(key) + len(value))
			lines += bytes.Count(value, []byte("\n"))
		}
		return nil
	})
	took := time.Since(started)
	if err != nil {
		return err
	}
	if want := len(t.tree.within(prefix)); r.Keys != want {
		return fmt.Errorf("a scan of %s found %d files of %d", prefix, r.Keys, want)
	}
	r.Seconds = took.Seconds()
	t.report.Prefix = r
	what := progress.Counted(int64(r.Keys), "key")
	if prefix != "" {
		what = progress.Count(int64(r.Keys)) + " in " + prefix
	}
	err = t.row("4", "prefix scan", what, progress.Duration(took),
		progress.Bytes(progress.Per(r.Bytes, took))+"/s")
	if err != nil {
		return err
	}
	return t.row("", "", progress.Counted(int64(lines), "line")+" counted", "", "")
}

// keyScan reads all keys and no value.
func (t *tour) keyScan() error {
	var r scanReport
	started := time.Now()
	err := t.db.View(func(tx *stoat.Tx) error {
		return t.tree.matchKeys(tx, &r)
	})
	took := time.Since(started)
	if err != nil {
		return err
	}
	r.Seconds = took.Seconds()
	t.report.Keys = r
	return t.row("5", "key-only scan", progress.Counted(int64(r.Keys), "key"), progress.Duration(took),
		progress.Duration(each(took, int64(r.Keys)))+" each")
}

// matchKeys checks that the keys of a transaction are the names of the files, and counts them.
func (t *sourceTree) matchKeys(tx *stoat.Tx, r *scanReport) error {
	left := t.files
	for key := range tx.Keys(stoat.Range{}) {
		if len(left) == 0 || string(key) < left[0].name {
			return fmt.Errorf("%s: a key that was not stored", quote(key))
		}
		if string(key) != left[0].name {
			break
		}
		left = left[1:]
		r.Keys++
		r.Bytes += int64(len(key))
	}
	if err := tx.Err(); err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s: the key is missing", left[0].name)
	}
	return nil
}
