package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// warnings is a [slog.Handler] that prints warnings of the database, one line each.
type warnings struct{ w io.Writer }

// Enabled implements slog.Handler.
func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (h warnings) Handle(_ context.Context, r slog.Record) error {
	why := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			why = ": " + strings.ReplaceAll(a.Value.String(), "\n", "; ")
		}
		return true
	})
	_, err := fmt.Fprintf(h.w, "stoat: warning: %s%s\n", r.Message, why)
	return err
}

// WithAttrs implements slog.Handler. The database has none for all records.
func (h warnings) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler. The database has no groups.
func (h warnings) WithGroup(string) slog.Handler { return h }
