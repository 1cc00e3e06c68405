// Package progress shows the progress of a job as a line on a terminal, and formats amounts with a
// few significant digits.
//
// A [Line] is not safe for concurrent use. The package neither reads a clock nor looks for a
// terminal: its callers do.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Interval is the time between two updates of a line.
const Interval = 100 * time.Millisecond

const (
	columns    = 79
	barColumns = 24
)

// Line is a progress line on a terminal.
type Line struct {
	w       io.Writer // nil: nothing is drawn
	now     func() time.Time
	label   string
	total   int64 // bytes; 0 if unknown
	done    int64
	before  int64 // of done: by an earlier run
	started time.Time
	drawn   time.Time
}

// NewLine starts a job of total bytes, which may be an estimate, or 0 if there is none. The line is
// drawn on w; if that is nil, it only counts. The clock is now.
func NewLine(w io.Writer, now func() time.Time, label string, total int64) *Line {
	l := &Line{w: w, now: now, label: label, total: total}
	if w != nil {
		l.started = now()
		l.drawn = l.started
	}
	return l
}

// Resume counts bytes that were done before the line was started; they do not count for its rate.
func (l *Line) Resume(n int64) {
	l.done += n
	l.before += n
}

// Add counts bytes that are done.
func (l *Line) Add(n int64) {
	l.done += n
	if l.w == nil {
		return
	}
	now := l.now()
	if now.Sub(l.drawn) < Interval {
		return
	}
	l.drawn = now
	l.draw(l.text(now.Sub(l.started)))
}

// Done returns the number of bytes that are done.
func (l *Line) Done() int64 { return l.done }

// Finish removes the line, lest it mix with other output.
func (l *Line) Finish() {
	if l.w != nil && l.drawn != l.started {
		l.draw("")
		fmt.Fprint(l.w, "\r")
	}
}

// draw replaces the line.
func (l *Line) draw(text string) { fmt.Fprintf(l.w, "\r%-*s", columns, text) }

// text returns the text of the line: a bar, the share, the rate and the time left.
func (l *Line) text(elapsed time.Duration) string {
	rate := Per(l.done-l.before, elapsed)
	speed := Bytes(rate) + "/s"
	if l.total <= 0 {
		return fmt.Sprintf("%s  %s  %s", l.label, Bytes(float64(l.done)), speed)
	}
	share := min(float64(l.done)/float64(l.total), 0.99) // an estimate may be too low
	full := int(share * barColumns)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barColumns-full)
	left := "-"
	if rate > 0 {
		seconds := max(0, float64(l.total-l.done)) / rate
		left = time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s  %s %2.0f %%  %s  %s left", l.label, bar, 100*share, speed, left)
}
