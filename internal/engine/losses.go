package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/stoatdb/stoat/internal/corrupt"
	"github.com/stoatdb/stoat/internal/folder"
	"github.com/stoatdb/stoat/internal/tools/backup"
	"github.com/stoatdb/stoat/internal/tools/check"
)

// losses is the files of which something could not be fetched, since it is damaged or missing. The
// zero value is empty. Safe for concurrent use.
type losses struct {
	mu  sync.Mutex
	all map[arrival]error
}

// over returns a fetch that goes on after damage: zeros are in the place of what is lost.
func (l *losses) over(fetch backup.Fetch) backup.Fetch {
	return func(
		ctx context.Context, kind folder.Kind, number uint64, off, n int64, to io.Writer,
	) error {
		file, piece := arrival{kind, number}, &counting{to: to}
		if l.of(file) == nil {
			err := fetch(ctx, kind, number, off, n, piece)
			if !errors.Is(err, corrupt.Err) {
				return err
			}
			if l.add(file, err) >= damagedMost {
				return errDamaged
			}
		}
		return piece.fill(n)
	}
}

// of returns why a file is lost; nil if it is not.
func (l *losses) of(file arrival) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[file]
}

// add adds a file, and returns how many there are.
func (l *losses) add(file arrival, err error) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = make(map[arrival]error)
	}
	l.all[file] = cmp.Or(l.all[file], err)
	return len(l.all)
}

// addTo adds what is lost of some files of a folder, or of all if none are given, to findings.
// Other findings about these files are left out from then on.
func (l *losses) addTo(found *check.Findings, dir string, files ...arrival) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(files) == 0 {
		files = slices.SortedFunc(maps.Keys(l.all), func(a, b arrival) int {
			return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.number, b.number))
		})
	}
	for _, file := range files {
		if err := l.all[file]; err != nil {
			found.Lose(filepath.Join(dir, file.kind.Name(file.number)), err)
		}
	}
}

// zeros is written in the place of what is lost; immutable.
var zeros [64 << 10]byte

// counting is a writer that knows how much was written.
type counting struct {
	to io.Writer
	n  int64
}

// Write implements [io.Writer].
func (c *counting) Write(p []byte) (n int, err error) {
	n, err = c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// fill writes zeros until n bytes are written.
func (c *counting) fill(n int64) (err error) {
	for err == nil && c.n < n {
		_, err = c.Write(zeros[:min(n-c.n, int64(len(zeros)))])
	}
	return err
}
