package kill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"
)

// process is a running child.
type process struct {
	cmd       *exec.Cmd
	input     io.Closer     // closing it asks the child to end
	opened    chan struct{} // closed when the child has opened the database
	heard     chan struct{} // closed after all output of the child was read
	acked     atomic.Uint64 // the newest transaction whose commit returned
	backedUp  atomic.Bool   // the child has made a backup
	complaint bytes.Buffer
}

// start starts a child. The end of the test kills it if it is still running.
func start(t *testing.T, p plan) *process {
	t.Helper()
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &process{cmd: exec.Command(self), opened: make(chan struct{}), heard: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), planVariable+"="+string(text))
	c.cmd.Stderr = &c.complaint
	c.input, err = c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	said, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.cmd.Process.Kill() }) // it may have ended already
	go c.hear(said)
	return c
}

// hear reads the child's output. A line cut off by the kill does not count.
func (c *process) hear(said io.Reader) {
	defer close(c.heard)
	for r := bufio.NewReader(said); ; {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		switch line = line[:len(line)-1]; line {
		case opened:
			close(c.opened)
		case backedUp:
			c.backedUp.Store(true)
		default:
			if n, err := strconv.ParseUint(line, 10, 64); err == nil && n > c.acked.Load() {
				c.acked.Store(n)
			}
		}
	}
}

// awaitOpened waits until the child has opened the database.
func (c *process) awaitOpened(t *testing.T) {
	t.Helper()
	select {
	case <-c.opened:
	case <-c.heard:
		t.Fatalf("the child has ended: %v", c.wait())
	}
}

// awaitAcked waits until n more transactions are acknowledged.
func (c *process) awaitAcked(t *testing.T, n uint64) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n += c.acked.Load(); c.acked.Load() < n; {
		select {
		case <-tick.C:
		case <-c.heard:
			t.Fatalf("the child has ended: %v", c.wait())
		}
	}
}

// wait waits until the child has ended, and returns what it complained about.
func (c *process) wait() error {
	<-c.heard
	err := c.cmd.Wait()
	if c.complaint.Len() > 0 {
		err = errors.Join(err, fmt.Errorf("it said: %s", &c.complaint))
	}
	return err
}

// end asks the child to close the database and end, and waits for it.
func (c *process) end(t *testing.T) {
	t.Helper()
	if err := c.input.Close(); err != nil {
		t.Error(err)
	}
	if err := c.wait(); err != nil {
		t.Errorf("the child: %v", err)
	}
}

// kill ends the child as kill -9 does. A child that has already ended has failed.
func (c *process) kill(t *testing.T) {
	t.Helper()
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Error(err)
	}
	err := c.wait()
	if err == nil || bytes.Contains(c.complaint.Bytes(), []byte(stopped)) {
		t.Errorf("the child ended by itself: %v", err)
	}
}
