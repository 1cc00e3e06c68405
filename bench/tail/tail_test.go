package tail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/tail"
)

func TestWriter_keepsBothEnds(t *testing.T) {
	var w tail.Writer
	fmt.Fprintln(&w, "panic: out of luck")
	for range 3 {
		fmt.Fprintf(&w, "%s\n", strings.Repeat("a", tail.Bytes))
	}
	fmt.Fprintln(&w, "exit status 2")
	got := w.String()
	first, last, cut := strings.Cut(got, fmt.Sprintf("a\n[%d bytes left out]\na", tail.Bytes+36))
	if !cut || !strings.HasPrefix(first, "panic: out of luck\n") ||
		!strings.HasSuffix(last, "\nexit status 2") || len(got) > 2*tail.Bytes+100 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestWriter_keepsAllOfALittle(t *testing.T) {
	var w tail.Writer
	want := strings.Repeat("a", tail.Bytes-1) + "bc" + strings.Repeat("d", tail.Bytes-1)
	for _, letter := range "\n" + want[1:] {
		fmt.Fprintf(&w, "%c", letter)
	}
	if got := w.String(); got != want[1:] {
		t.Errorf("%d bytes instead of %d: %s", len(got), len(want)-1, got)
	}
}
