package main

import (
	"io"
	"time"

	"github.com/stoatdb/stoat/internal/commands/progress"
)

// newProgress starts a line on standard error, if a person reads that, for a job of total bytes,
// which may be an estimate, or 0 if there is none.
func newProgress(s *stdio, label string, total int64) *progress.Line {
	var w io.Writer
	if s.errTerminal {
		w = s.err
	}
	return progress.NewLine(w, time.Now, label, total)
}
