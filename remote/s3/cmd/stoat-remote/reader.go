package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/internal/commands/cmdline"
	"github.com/stoatdb/stoat/internal/commands/columns"
	"github.com/stoatdb/stoat/internal/commands/progress"
	"github.com/stoatdb/stoat/remote"
)

// lookEvery is how often the position of a reader is looked at.
const lookEvery = 50 * time.Millisecond

func readerCommand() *command {
	flags := cmdline.NewFlags()
	asJSON := jsonFlag(flags)
	once := flags.Bool("once", false, "end after the first line")
	poll := flags.Duration("poll", time.Second, "the `TIME` between two looks at the store")
	return &command{
		Name: "reader", Arguments: "STORE", Summary: "follow the database as it is shipped",
		Details: `
Prints a line for the newest commit, and one whenever that changes: its
position, how old what is shown may be, and the requests and bytes since the
start. It ends with an interrupt. No writer has to run, and none notices.`,
		Min: 1, Max: 1, Flags: flags,
		Run: func(ctx context.Context, s *stdio, args []string) error {
			if *poll <= 0 {
				return cmdline.Usagef("-poll %v must be more than 0, such as 1s", *poll)
			}
			return s.read(ctx, args[0], *poll, func(r *remote.Reader) error {
				err := follow(ctx, r, *once, func(st remote.ReaderStatus) error {
					return printReader(s, st, *asJSON)
				})
				if errors.Is(err, context.Canceled) {
					return nil // an interrupt is how it ends
				}
				return err
			})
		},
	}
}

// read runs fn with a reader of the database in a store.
func (s *stdio) read(
	ctx context.Context, store string, poll time.Duration, fn func(r *remote.Reader) error,
) error {
	from, err := s.openStore(ctx, store)
	if err != nil {
		return err
	}
	r, err := remote.OpenReader(ctx, from, "", &remote.ReaderOptions{Poll: poll})
	if err != nil {
		return err
	}
	return errors.Join(fn(r), r.Close())
}

// follow calls fn with the status of a reader now and, unless once is set, whenever the reader
// shows another commit or another error, until ctx ends.
func follow(
	ctx context.Context, r *remote.Reader, once bool, fn func(remote.ReaderStatus) error,
) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	shown, failure := stoat.Position(0), ""
	for first := true; ; first = false {
		st := r.Status()
		now := ""
		if st.Failed != nil {
			now = st.Failed.Error()
		}
		if first || st.Position != shown || now != failure {
			shown, failure = st.Position, now
			if err := fn(st); err != nil || once {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// readerJSON is how far a reader is.
type readerJSON struct {
	Position uint64  `json:"position,string"`
	Age      float64 `json:"age"` // in seconds
	Requests uint64  `json:"requests"`
	Bytes    uint64  `json:"bytes"`
	Failed   string  `json:"failed,omitempty"`
}

// printReader prints how far a reader is, at once.
func printReader(s *stdio, st remote.ReaderStatus, asJSON bool) error {
	failed := ""
	if st.Failed != nil {
		failed = st.Failed.Error()
	}
	if asJSON {
		return writeJSON(s, readerJSON{
			uint64(st.Position), st.Age.Seconds(), st.Requests, st.Bytes, failed,
		})
	}
	t := &columns.Table{Out: s.out, Widths: []int{20, -12, -15, -9}}
	err := t.Row(fmt.Sprint(uint64(st.Position)), progress.Duration(st.Age)+" old",
		progress.Counted(int64(st.Requests), "request"), progress.Bytes(float64(st.Bytes)), failed)
	return errors.Join(err, s.out.Flush())
}
