package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// twoBatches returns a dump with more lines than go into one transaction.
func twoBatches() string {
	var b strings.Builder
	b.WriteString("{\"stoat\":2}\n")
	for i := range batchEntriesMax + 500 {
		fmt.Fprintf(&b, "{\"key\":\"%06d\",\"value\":\"%d\"}\n", i, i)
	}
	b.WriteString("{\"end\":true}\n")
	return b.String()
}

func TestLoad_saysWhatIsLoadedWhenInterrupted(t *testing.T) {
	text := twoBatches()
	for _, c := range []struct {
		after int // bytes
		want  string
		keys  int
	}{
		{100, "interrupted; nothing was loaded", 0},
		{len(text), "interrupted; the lines before line 10002 of standard input are loaded, none " +
			"after: load it again from the start, which does no harm", batchEntriesMax},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		db := filepath.Join(t.TempDir(), "db")
		s := newStdio(&interrupter{strings.NewReader(text), c.after, cancel}, io.Discard, io.Discard)
		in, err := openDump(ctx, s, nil)
		if err == nil {
			err = load(ctx, s, db, in)
		}
		if err == nil || err.Error() != c.want || exitCode(err) != exitInterrupted {
			t.Errorf("interrupted after %d bytes, it returns %v, exit code %d", c.after, err, exitCode(err))
		}
		if c.keys > 0 {
			if n := strings.Count(output(t, "keys", db), "\n"); n != c.keys {
				t.Errorf("interrupted after %d bytes, there are %d keys, want %d", c.after, n, c.keys)
			}
		}
		if r := execute(t, text, "load", db); r.code != exitOK {
			t.Fatal(r.err)
		}
		equal(t, output(t, "dump", db), text)
	}
}

func TestInput_endsWhenInterruptedWhileThereIsNothingToRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	defer to.Close()
	s := newStdio(from, io.Discard, io.Discard)
	go cancel()
	if _, err := openInput(ctx, s, "-"); !errors.Is(err, errInterrupted) {
		t.Errorf("it returns %v", err)
	}
}
