package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/progress"
)

// getsReport is how long lookups took.
type getsReport struct {
	Gets        int     `json:"gets"`
	Seconds     float64 `json:"seconds"`
	NanosPerGet float64 `json:"nanosPerGet"`
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
	getsAtOnce  = 512 // between two reads of the clock
)

// gets looks up each file in random order right after opening, and then many of them again.
func (t *tour) gets() error {
	rng := rand.New(rand.NewPCG(1, 2)) // the same order in every tour
	files := make([]sourceFile, len(t.tree.files))
	for i, from := range rng.Perm(len(files)) {
		files[i] = t.tree.files[from]
	}
	started := time.Now()
	if err := t.lookUp(files); err != nil {
		return err
	}
	t.report.FirstGets = newGetsReport(len(files), time.Since(started))

	var took time.Duration
	done := 0
	for done < getsMax && took < getsTimeMax {
		some := make([]sourceFile, getsAtOnce)
		for i := range some {
			some[i] = files[rng.IntN(len(files))]
		}
		started = time.Now()
		if err := t.lookUp(some); err != nil {
			return err
		}
		took += time.Since(started)
		done += len(some)
	}
	t.report.Gets = newGetsReport(done, took)
	what := progress.Counted(int64(len(files)), "key") + ", each once"
	if err := t.getsRow("3", "random gets, cold", what, t.report.FirstGets); err != nil {
		return err
	}
	return t.getsRow("", "random gets, warm", progress.Counted(int64(done), "get"), t.report.Gets)
}

func newGetsReport(n int, took time.Duration) getsReport {
	return getsReport{n, took.Seconds(), float64(took.Nanoseconds()) / float64(max(1, n))}
}

func (t *tour) getsRow(number, step, what string, r getsReport) error {
	return t.row(number, step, what, progress.Duration(seconds(r.Seconds)),
		progress.Count(int64(r.NanosPerGet))+" ns each")
}

// lookUp gets the values of the files and checks their lengths.
func (t *tour) lookUp(files []sourceFile) error {
	return t.db.View(func(tx *stoat.Tx) error {
		key := make([]byte, 0, 256)
		for i := range files {
			key = append(key[:0], files[i].name...)
			value, err := tx.Get(key)
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
