package torture

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
)

// reuse counts the tables and blocks that compactions took over, from the log messages of the
// database. Safe for concurrent use.
type reuse struct {
	slog.Handler
	tables, blocks *atomic.Int64
}

func newReuse() reuse {
	return reuse{slog.DiscardHandler, new(atomic.Int64), new(atomic.Int64)}
}

func (r reuse) logger() *slog.Logger { return slog.New(r) }

// Enabled implements slog.Handler.
func (reuse) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (r reuse) Handle(_ context.Context, record slog.Record) error {
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "moved":
			r.tables.Add(a.Value.Int64())
		case "copied":
			r.blocks.Add(a.Value.Int64())
		}
		return true
	})
	return nil
}

// check fails the test unless compactions moved tables and copied blocks.
func (r reuse) check(t *testing.T) {
	t.Helper()
	if tables, blocks := r.tables.Load(), r.blocks.Load(); tables == 0 || blocks == 0 {
		t.Errorf("compactions have moved %d tables and copied %d blocks", tables, blocks)
	} else {
		t.Logf("compactions have moved %d tables and copied %d blocks", tables, blocks)
	}
}
