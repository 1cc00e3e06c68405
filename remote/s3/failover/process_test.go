package failover

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// child is a process that writes, or stands by.
type child struct {
	plan  plan
	cmd   *exec.Cmd
	input io.WriteCloser
	heard chan struct{} // closed after all output was read
	err   bytes.Buffer

	mu     sync.Mutex
	change chan struct{}  // closed when the rest changes
	said   map[string]int // how often it said something, by the first word
	acked  map[int]uint64 // the newest commit of each writer that returned nil
	has    map[int]uint64 // the counters when the child had opened the database
	fenced string         // what its transactions failed with
}

// start starts a child. The end of the test kills it.
func start(t *testing.T, p plan) *child {
	t.Helper()
	text, err := json.Marshal(p)
	ok(t, err)
	self, err := os.Executable()
	ok(t, err)
	c := &child{
		plan: p, cmd: exec.Command(self), heard: make(chan struct{}), change: make(chan struct{}),
		said: map[string]int{}, acked: map[int]uint64{}, has: map[int]uint64{},
	}
	c.cmd.Env = append(os.Environ(), planVariable+"="+string(text))
	c.cmd.Stderr = &c.err
	c.input, err = c.cmd.StdinPipe()
	ok(t, err)
	out, err := c.cmd.StdoutPipe()
	ok(t, err)
	ok(t, c.cmd.Start())
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it may have ended already
	go c.hear(out)
	return c
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hear reads the child's output. A line that a kill has cut off does not count.
func (c *child) hear(out io.Reader) {
	defer close(c.heard)
	for r := bufio.NewReader(out); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		var w int
		var n uint64
		_, _ = fmt.Sscan(rest, &w, &n) // not every line has numbers
		c.mu.Lock()
		switch c.said[word]++; word {
		case "acked":
			c.acked[w] = n
		case "has":
			c.has[w] = n
		case sayFenced:
			c.fenced = rest
		}
		close(c.change)
		c.change = make(chan struct{})
		c.mu.Unlock()
	}
}

// await waits until the child has said a word n times more than now.
func (c *child) await(t *testing.T, word string, n int) {
	t.Helper()
	c.mu.Lock()
	n += c.said[word]
	c.mu.Unlock()
	c.awaitTotal(t, word, n)
}

// awaitTotal waits until the child has said a word n times.
func (c *child) awaitTotal(t *testing.T, word string, n int) {
	t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		c.mu.Lock()
		said, change := c.said[word], c.change
		c.mu.Unlock()
		if said >= n {
			return
		}
		select {
		case <-change:
		case <-c.heard:
			c.mu.Lock()
			said = c.said[word]
			c.mu.Unlock()
			if said < n {
				t.Fatalf("the child has ended without %q: %v: %s", word, c.cmd.Wait(), &c.err)
			}
		case <-limit:
			t.Fatalf("the child does not say %q", word)
		}
	}
}

// kill ends the child as kill -9 does. One that has ended by itself has failed.
func (c *child) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	<-c.heard
	if err := c.cmd.Wait(); err == nil || c.err.Len() > 0 {
		t.Errorf("the child ended by itself: %v: %s", err, &c.err)
	}
}

// finish waits until the child has ended by itself.
func (c *child) finish(t *testing.T) {
	t.Helper()
	select {
	case <-c.heard:
	case <-time.After(2 * time.Minute):
		t.Fatal("the child does not end")
	}
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the child: %v: %s", err, &c.err)
	}
}

// end asks the child to close the database and end.
func (c *child) end(t *testing.T) {
	t.Helper()
	ok(t, c.input.Close())
	c.finish(t)
}

// lost returns what a child has acknowledged that its successor did not find. Both have said so.
func (c *child) lost(successor *child) error {
	c.mu.Lock()
	acked := maps.Clone(c.acked)
	c.mu.Unlock()
	successor.mu.Lock()
	defer successor.mu.Unlock()
	for w, n := range acked {
		if has := successor.has[w]; has < n {
			return fmt.Errorf("lost: commit %d of writer %d is acknowledged, and the successor has %d", n,
				w, has)
		}
	}
	return nil
}
