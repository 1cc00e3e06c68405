package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	progressEvery   = 100 * time.Millisecond // between two pictures
	progressColumns = 79
	barColumns      = 24
)

// progress is a line on a terminal that says how far a job is. It is not safe for concurrent use.
type progress struct {
	w       io.Writer // nil if nobody would see it
	label   string
	total   int64 // bytes; 0 if unknown
	done    int64
	started time.Time
	drawn   time.Time
}

// newProgress starts a job of total bytes, which may be an estimate, or 0 if there is none.
func newProgress(s *stdio, label string, total int64) *progress {
	p := &progress{label: label, total: total}
	if s.errTerminal {
		p.w, p.started = s.err, time.Now()
		p.drawn = p.started
	}
	return p
}

// add counts bytes that are done.
func (p *progress) add(n int64) {
	p.done += n
	if p.w == nil {
		return
	}
	now := time.Now()
	if now.Sub(p.drawn) < progressEvery {
		return
	}
	p.drawn = now
	p.draw(progressLine(p.label, p.done, p.total, now.Sub(p.started)))
}

// finish removes the line, so that it does not mix with what is printed next.
func (p *progress) finish() {
	if p.w != nil && p.drawn != p.started {
		p.draw("")
		fmt.Fprint(p.w, "\r")
	}
}

// draw replaces the line.
func (p *progress) draw(line string) { fmt.Fprintf(p.w, "\r%-*s", progressColumns, line) }

// progressLine returns what the line says: a bar, the share, the rate and the time that is left.
func progressLine(label string, done, total int64, elapsed time.Duration) string {
	rate := per(done, elapsed)
	speed := byteText(rate) + "/s"
	if total <= 0 {
		return fmt.Sprintf("%s  %s  %s", label, byteText(float64(done)), speed)
	}
	share := min(float64(done)/float64(total), 0.99) // an estimate may be too low
	full := int(share * barColumns)
	bar := strings.Repeat("█", full) + strings.Repeat("░", barColumns-full)
	left := "-"
	if rate > 0 {
		seconds := max(0, float64(total-done)) / rate
		left = time.Duration(seconds * float64(time.Second)).Round(time.Second).String()
	}
	return fmt.Sprintf("%s  %s %2.0f %%  %s  %s left", label, bar, 100*share, speed, left)
}
