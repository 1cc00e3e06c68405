package progress

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func equal(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLine_showsShareRateAndTimeLeft(t *testing.T) {
	text := func(label string, done, total int64, elapsed time.Duration) string {
		return (&Line{label: label, done: done, total: total}).text(elapsed)
	}
	equal(t, text("load", 25e6, 100e6, time.Second),
		"load  ██████░░░░░░░░░░░░░░░░░░ 25 %  25.0 MB/s  3s left")
	equal(t, text("load", 5e6, 0, 2*time.Second), "load  5.00 MB  2.50 MB/s")
	equal(t, text("dump", 300, 200, time.Second),
		"dump  ███████████████████████░ 99 %  300 B/s  0s left")
	equal(t, text("dump", 0, 200, 0),
		"dump  "+strings.Repeat("░", barColumns)+"  0 %  0 B/s  - left")
	line := text("compare", 1, 1e15, time.Second)
	if n := utf8.RuneCountInString(line); n > columns {
		t.Errorf("a line of %d columns", n)
	}
}

func TestLine_leavesTheEarlierRunOutOfTheRate(t *testing.T) {
	l := NewLine(nil, nil, "import", 100)
	l.Resume(40)
	l.Add(10)
	equal(t, l.text(time.Second), "import  "+strings.Repeat("█", 12)+strings.Repeat("░", 12)+
		" 50 %  10 B/s  5s left")
	if l.Done() != 50 {
		t.Errorf("%d bytes are done, want 50", l.Done())
	}
}

func TestLine_isDrawnNowAndThenAndRemoved(t *testing.T) {
	var screen bytes.Buffer
	at := time.Unix(1000, 0)
	now := func() time.Time { return at }
	l := NewLine(&screen, now, "load", 100)
	l.Add(1)
	l.Finish()
	equal(t, screen.String(), "")
	l = NewLine(&screen, now, "load", 100)
	at = at.Add(time.Second)
	l.Add(50)
	l.Add(1)
	l.Finish()
	text := screen.String()
	if !strings.HasPrefix(text, "\rload  █") || !strings.HasSuffix(text, "\r") ||
		strings.Count(text, "load") != 1 {
		t.Errorf("drawn: %q", text)
	}
}
