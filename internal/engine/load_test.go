package engine

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stoatdb/stoat/internal/testing/faultfs"
	"github.com/stoatdb/stoat/internal/vfs/memfs"
)

// created notes which of the files that were created are still open, by name. Safe for concurrent
// use.
type created struct {
	mu   sync.Mutex
	open map[string]bool
}

func (c *created) note(op faultfs.Op) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch op.Kind {
	case faultfs.Create:
		c.open[op.Name] = true
	case faultfs.Close:
		delete(c.open, op.Name)
	}
	return nil
}

func (c *created) names() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(slices.Sorted(maps.Keys(c.open)), ", ")
}

// A load makes no table for each of many narrow gaps, and still writes a wide one behind them once.
func TestLoad_ofKeysBetweenOthersMakesFewTables(t *testing.T) {
	o := calm()
	o.Tuning.TableBytes, o.Tuning.BlockBytes = 4<<10, 512
	e := mustOpen(t, memfs.New(), o)
	var words []string
	w, err := e.Begin()
	ok(t, err)
	for _, word := range append(ascendingWords("k", 1000), "z") {
		ok(t, w.Put(dataKey("%s", word), []byte(word), 0))
		words = append(words, word)
	}
	ok(t, w.Commit())
	ok(t, e.Flush())
	l, err := e.BeginLoad(t.Context())
	ok(t, err)
	bytes := 0
	for _, word := range ascendingWords("k", 2000) {
		word += "x"
		ok(t, l.Put(dataKey("%s", word), []byte(word)))
		words = append(words, word)
		bytes += len(dataKey("%s", word)) + len(word)
	}
	ok(t, l.Commit())
	tables, compressed := 0, 0
	for _, r := range e.state.Load().Levels.Version.Young {
		for _, table := range r.Tables {
			if tables++; table.Compressed {
				compressed++
			}
		}
	}
	if most := 2 + 2*bytes/(4<<10); tables > most || compressed < 2 {
		t.Errorf("%d bytes are in %d tables, want %d at most; %d are compressed",
			bytes, tables, most, compressed)
	}
	slices.Sort(words)
	wantWords(t, e, words...)
	ok(t, e.Close())
}

// TestLoader_saysThatTheDatabaseIsClosedMeanwhile closes the database when a load creates a file.
func TestLoader_saysThatTheDatabaseIsClosedMeanwhile(t *testing.T) {
	for name, end := range map[string]func(l *Loader) error{
		"put": func(l *Loader) error {
			return errors.Join(l.Put(dataKey("b"), []byte("b")), l.Rollback())
		},
		"commit": (*Loader).Commit,
	} {
		t.Run(name, func(t *testing.T) {
			var closing func()
			fs := faultfs.New(memfs.New(), func(op faultfs.Op) error {
				if is(faultfs.Create, tableSuffix)(op) && closing != nil {
					closing()
				}
				return nil
			})
			options := calm()
			if name == "put" {
				options.Tuning.SampleBytes = 1 // so that entries go to a table at once
			}
			e := mustOpen(t, fs, options)
			l, err := e.BeginLoad(t.Context())
			ok(t, err)
			if name == "commit" {
				ok(t, l.Put(dataKey("a"), []byte("a")))
			}
			closing = func() {
				closing = nil
				ok(t, e.Close())
			}
			if err := end(l); err == nil || err.Error() != ErrClosed.Error() {
				t.Errorf("error %v, want %v", err, ErrClosed)
			}
		})
	}
}

func TestLoader_afterCloseLeavesNoFileOpen(t *testing.T) {
	large := bytes.Repeat([]byte("large"), 1000) // goes to a value file
	for name, end := range map[string]func(l *Loader) error{
		"rollback": (*Loader).Rollback,
		"commit": func(l *Loader) error {
			if err := l.Commit(); !errors.Is(err, ErrClosed) {
				return errors.New("the commit is not refused")
			}
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			disk := memfs.New()
			c := created{open: map[string]bool{}}
			options := calm()
			options.Tuning.SampleBytes = 1 // so that entries go to a table at once
			e := mustOpen(t, faultfs.New(disk, c.note), options)
			mustCommit(t, e, "before")
			l, err := e.BeginLoad(t.Context())
			ok(t, err)
			ok(t, l.Put(dataKey("a"), []byte("a")))
			ok(t, l.Put(dataKey("b"), large))
			if !strings.Contains(c.names(), tableSuffix) {
				t.Fatalf("open are %s, so that nothing is tested", c.names())
			}
			ok(t, e.Close())
			before := named(t, disk, "")
			ok(t, end(l))
			if names := c.names(); names != "" {
				t.Errorf("%s are open", names)
			}
			if after := named(t, disk, ""); !slices.Equal(after, before) {
				t.Errorf("after Close there are %v, and later %v", before, after)
			}
			again := mustOpen(t, disk, calm())
			wantWords(t, again, "before")
			if tables := named(t, disk, tableSuffix); len(tables) != 1 {
				t.Errorf("tables %v, want one", tables)
			}
		})
	}
}
