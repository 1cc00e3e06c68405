package main

import (
	"io"
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// newProgress starts a progress line on standard error, if that is a terminal, for a job of total
// bytes, which may be an estimate, or 0 if unknown.
func newProgress(s *stdio, label string, total int64) *progress.Line {
	var w io.Writer
	if s.errTerminal {
		w = s.err
	}
	return progress.NewLine(w, time.Now, label, total)
}
