// Command beyond measures what takes minutes and gigabytes and is therefore in no test:
// transactions larger than memory, many range deletions, opening a large database, loading in bulk,
// idling, and the size from which values are better outside tables.
//
//	go run ./beyond [-dir DIR] [-scale N] [NAME ...]
//
// The names are those of [measurements]; by default, all are made. Each creates a database in a
// new folder in DIR, and removes it afterwards. With -scale, all sizes are divided by N.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stoatdb/stoat"
)

func main() {
	dir := flag.String("dir", os.TempDir(), "create the databases in this `directory`")
	scale := flag.Int("scale", 1, "divide all sizes by `N`")
	flag.Parse()
	if err := run(os.Stdout, *dir, *scale, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "beyond:", err)
		os.Exit(1)
	}
}

// measurement is one thing to measure. It prints rows of a table.
type measurement struct {
	name string
	head string
	run  func(b *bench) error
}

// measurements returns all of them.
func measurements() []measurement {
	figures := "| what | figure |\n| --- | ---: |\n"
	return []measurement{
		{"transactions", figures, (*bench).transactions},
		{"ranges", figures, (*bench).ranges},
		{"opening", figures, (*bench).opening},
		{"loading", figures, (*bench).loading},
		{"rest", figures, (*bench).rest},
		{"threshold", thresholdHead, (*bench).threshold},
	}
}

// bench is shared by the measurements.
type bench struct {
	out   io.Writer
	dir   string // of the database
	scale int
}

// run makes the measurements with the given names, or all.
func run(out io.Writer, dir string, scale int, names []string) error {
	if scale < 1 {
		return fmt.Errorf("-scale %d: must be at least 1", scale)
	}
	all := measurements()
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m measurement) bool { return m.name == name }) {
			return fmt.Errorf("no measurement %q; there are transactions, ranges, opening, loading, "+
				"rest and threshold", name)
		}
	}
	folder, err := os.MkdirTemp(dir, "stoat-beyond-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for _, m := range all {
		if len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		fmt.Fprintf(out, "\n%s\n\n%s", m.name, m.head)
		b := &bench{out: out, dir: filepath.Join(folder, m.name), scale: scale}
		if err := m.run(b); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// n returns a number of the full size, scaled.
func (b *bench) n(full int) int { return max(full/b.scale, 20) }

// print prints a row.
func (b *bench) print(what string, figure any) {
	if d, ok := figure.(time.Duration); ok {
		figure = rounded(d)
	}
	fmt.Fprintf(b.out, "| %s | %v |\n", what, figure)
}

// rounded returns d with about three digits.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

// with opens a new database, and closes and removes it after use.
func (b *bench) with(o *stoat.Options, use func(db *stoat.DB) error) error {
	db, err := stoat.Open(b.dir, o)
	if err != nil {
		return err
	}
	err = use(db)
	if closeErr := db.Close(); err == nil {
		err = closeErr
	}
	if removeErr := os.RemoveAll(b.dir); err == nil {
		err = removeErr
	}
	return err
}

// timed returns how long fn takes.
func timed(fn func() error) (time.Duration, error) {
	start := time.Now()
	err := fn()
	return time.Since(start), err
}

// median returns the median duration of n calls of fn.
func median(n int, fn func() error) (time.Duration, error) {
	all := make([]time.Duration, n)
	for i := range all {
		var err error
		if all[i], err = timed(fn); err != nil {
			return 0, err
		}
	}
	slices.Sort(all)
	return all[n/2], nil
}
