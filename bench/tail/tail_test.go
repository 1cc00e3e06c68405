package tail_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stoatdb/stoat/bench/tail"
)

func TestWriter_keepsTheEnd(t *testing.T) {
	var w tail.Writer
	for range 3 {
		fmt.Fprintf(&w, "%s\n", strings.Repeat("a", tail.Bytes))
	}
	fmt.Fprintln(&w, "out of luck")
	got := w.String()
	if len(got) >= tail.Bytes || !strings.HasSuffix(got, "\nout of luck") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}
