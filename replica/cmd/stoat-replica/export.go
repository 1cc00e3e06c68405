package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/replica"
)

func exportCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	since := flags.String("for", "", "leave out what the exporter of `FILE` has, a file of theirs")
	return &command{
		Name: "export", Arguments: "DB FILE", Summary: "write the space to a file, to carry to others",
		Details: `
FILE appears when it is complete, and an export that is killed leaves .FILE-*
beside it; "-" is standard output. It has what others wrote, too, if it has
arrived here; of what was pruned here, the state at the last checkpoint, unless
-for says that it is not needed. If the database is open in another process, or
there is no key of this device, what is not sealed yet is left out, with a
warning.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			known, err := vectorOf(*since)
			if err != nil {
				return err
			}
			return o.viewSealed(s, args[0], func(space *replica.Space) error {
				return exportTo(ctx, s, space, known, args[1])
			})
		},
	}
}

// vectorOf returns what the exporter of a file has, or nothing if the name is empty.
func vectorOf(name string) (replica.Vector, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	_, v, err := replica.ReadVector(bufio.NewReader(f))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return v, nil
}

// viewSealed runs fn with the space, open for writing if that is possible, and else for reading.
func (o *target) viewSealed(s *stdio, dir string, fn func(*replica.Space) error) error {
	device, err := loadKeyFile(o.device)
	if err == nil {
		var db *stoat.DB
		if db, err = o.openExisting(dir); err == nil {
			space, err := o.open(db, device)
			if err == nil {
				err = fn(space)
			}
			return errors.Join(err, db.Close())
		}
	}
	if !errors.Is(err, os.ErrNotExist) && !errors.Is(err, stoat.ErrLocked) {
		return err
	}
	return o.view(dir, func(space *replica.Space, tx *stoat.Tx) error {
		status, err := measure(space, tx)
		if err != nil {
			return err
		}
		if status.Unsealed > 0 {
			fmt.Fprintf(s.err, "stoat-replica: warning: left out %s not sealed yet\n",
				entriesText(int64(status.Unsealed)))
		}
		return fn(space)
	})
}

// exportTo writes a space to a file, or to standard output.
func exportTo(ctx context.Context, s *stdio, space *replica.Space, known replica.Vector,
	name string,
) error {
	if name == "-" {
		return replica.ExportSince(ctx, space, known, s.out)
	}
	temp, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	if err != nil {
		return fmt.Errorf("%s: %w", name, errors.Unwrap(err)) // without the name of the temporary file
	}
	line := newProgress(s, "export", 0)
	w := bufio.NewWriterSize(&counted{w: temp, line: line}, 1<<16)
	err = replica.ExportSince(ctx, space, known, w)
	line.Finish()
	if err == nil {
		err = w.Flush()
	}
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	_, err = fmt.Fprintf(s.out, "%s: %s\n", name, progress.Bytes(float64(line.Done())))
	return err
}

func importCommand() *command {
	flags := cmdline.NewFlags()
	o := &target{}
	o.spaceFlag(flags)
	o.deviceFlag(flags)
	return &command{
		Name: "import", Arguments: "DB FILE", Summary: "merge a file that export wrote",
		Details: `
"-" is standard input. The space must have been created or joined here. To
import a file again does no harm, and FILE may be several, one after the other.
If one has a checkpoint, an import that was cut off goes on where it was.`,
		Min: 2, Max: 2, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			return o.update(args[0], func(space *replica.Space, db *stoat.DB) error {
				return reportArrivals(s, space, db, func() error {
					return importFrom(ctx, s, space, args[1])
				})
			})
		},
	}
}

// importFrom merges a file, or standard input.
func importFrom(ctx context.Context, s *stdio, space *replica.Space, name string) error {
	in, size := s.in, int64(0)
	if name == "-" {
		r := interruptible(ctx, in)
		defer func() { _ = r.Close() }()
		in = r
	} else {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // it is only read
		info, err := f.Stat()
		if err != nil {
			return err
		}
		in, size = f, info.Size()
	}
	line := newProgress(s, "import", size)
	r := bufio.NewReaderSize(&counted{r: in, line: line}, 1<<16)
	defer line.Finish()
	for {
		if err := replica.Import(ctx, space, r); err != nil {
			return err
		}
		if _, err := r.Peek(1); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// interruptible returns a reader of what r has that fails with the context's error when that ends,
// even while r is waiting for more. R may be read until the process ends.
func interruptible(ctx context.Context, r io.Reader) io.ReadCloser {
	out, in := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(in, r)
		stop()
		_ = in.CloseWithError(cmp.Or(ctx.Err(), err))
	}()
	return out
}
