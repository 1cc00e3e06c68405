package torture

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
)

// kept counts what compactions have not written anew, as a database logs it. Safe for concurrent
// use.
type kept struct {
	slog.Handler
	tables, blocks *atomic.Int64
}

func newKept() kept {
	return kept{slog.DiscardHandler, new(atomic.Int64), new(atomic.Int64)}
}

func (k kept) logger() *slog.Logger { return slog.New(k) }

// Enabled implements slog.Handler.
func (kept) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (k kept) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "moved":
			k.tables.Add(a.Value.Int64())
		case "copied":
			k.blocks.Add(a.Value.Int64())
		}
		return true
	})
	return nil
}

// check fails the test unless compactions have moved tables and copied blocks.
func (k kept) check(t *testing.T) {
	t.Helper()
	if tables, blocks := k.tables.Load(), k.blocks.Load(); tables == 0 || blocks == 0 {
		t.Errorf("compactions have moved %d tables and copied %d blocks", tables, blocks)
	} else {
		t.Logf("compactions have moved %d tables and copied %d blocks", tables, blocks)
	}
}
