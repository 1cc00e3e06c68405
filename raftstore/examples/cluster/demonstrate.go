package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stoatdb/stoat"
	"github.com/stoatdb/stoat/raftstore"
)

// patience is how long a cluster may take for a step before it counts as dead.
const patience = time.Minute

// child is a server in a process of its own.
type child struct {
	plan    plan
	process *exec.Cmd
	input   io.WriteCloser
	output  chan string // the lines that it prints; closed at its end
}

func (c *child) start() (err error) {
	text, err := json.Marshal(c.plan)
	if err != nil {
		return err
	}
	c.plan.Life++
	c.process = exec.Command(os.Args[0])
	c.process.Env = append(os.Environ(), planVariable+"="+string(text))
	c.process.Stderr = os.Stderr
	if c.input, err = c.process.StdinPipe(); err != nil {
		return err
	}
	output, err := c.process.StdoutPipe()
	if err != nil {
		return err
	}
	lines := make(chan string, 1000)
	c.output = lines
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return c.process.Start()
}

// kill kills the server, and returns what it had printed.
func (c *child) kill() (rest []string) {
	_ = c.process.Process.Kill()
	for line := range c.output {
		rest = append(rest, line)
	}
	_ = c.process.Wait() // it was killed
	return rest
}

// cluster is three servers, and what they have acknowledged.
type cluster struct {
	servers []*child
	acked   map[string]bool
	leader  int // who has acknowledged a command last
}

func newCluster(dir string) (*cluster, error) {
	c := &cluster{acked: map[string]bool{}}
	var addresses []string
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // once all have an address
		addresses = append(addresses, l.Addr().String())
	}
	for i := range 3 {
		c.servers = append(c.servers, &child{plan: plan{
			Dir: filepath.Join(dir, fmt.Sprint("server", i)), Index: i, Peers: addresses,
		}})
	}
	return c, nil
}

// note records what a server has printed.
func (c *cluster) note(i int, line string) {
	if command, ok := strings.CutPrefix(line, "acked "); ok {
		c.acked[command], c.leader = true, i
	}
}

// await reads what the servers print until done is true of a line, or they take too long.
func (c *cluster) await(what string, done func(i int, line string) bool) error {
	timeout := time.After(patience)
	s := c.servers
	for {
		var i int
		var line string
		var open bool
		select {
		case line, open = <-s[0].output:
		case line, open = <-s[1].output:
			i = 1
		case line, open = <-s[2].output:
			i = 2
		case <-timeout:
			return fmt.Errorf("no %s within %v", what, patience)
		}
		if !open {
			return fmt.Errorf("server %d has ended by itself", i)
		}
		c.note(i, line)
		if done(i, line) {
			return nil
		}
	}
}

// goOn waits until more commands are acknowledged, by another server than without.
func (c *cluster) goOn(commands, without int) error {
	target := 0
	return c.await("acknowledged command", func(i int, line string) bool {
		if strings.HasPrefix(line, "acked ") && i != without {
			target++
		}
		return target == commands
	})
}

// demonstrate runs a cluster, kills servers, and checks what is left.
func demonstrate(dir string, kills int, out io.Writer) error {
	c, err := newCluster(dir)
	if err != nil {
		return err
	}
	defer c.killAll()
	for _, s := range c.servers {
		if err := os.MkdirAll(s.plan.Dir, 0o700); err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
	}
	if err := c.goOn(50, -1); err != nil {
		return err
	}
	fmt.Fprintln(out, "Three servers run, and have acknowledged 50 commands.")
	for n := range kills {
		if err := c.killOne(n, out); err != nil {
			return err
		}
	}
	return c.finish(out)
}

// killOne kills the leader, or now and then another server, and starts it again once the others
// have gone on.
func (c *cluster) killOne(n int, out io.Writer) error {
	at, role := c.leader, "the leader"
	if n%3 == 2 {
		at, role = (c.leader+1)%3, "a follower"
	}
	victim := c.servers[at]
	for _, line := range victim.kill() {
		c.note(at, line)
	}
	victim.output = make(chan string) // nothing comes until it is started again
	began := time.Now()
	if err := c.goOn(1, at); err != nil {
		return err
	}
	fmt.Fprintf(out, "Server %d, %s, was killed; the next command was acknowledged after %v.\n",
		at, role, time.Since(began).Round(time.Millisecond))
	if err := c.goOn(100+rand.IntN(200), at); err != nil {
		return err
	}
	return victim.start()
}

// finish ends the list, and compares what the servers have with what they have acknowledged.
func (c *cluster) finish(out io.Writer) error {
	for _, s := range c.servers {
		if _, err := fmt.Fprintln(s.input, "end"); err != nil {
			return err
		}
	}
	ended := 0
	err := c.await("end of the list everywhere", func(_ int, line string) bool {
		if line == "ended" {
			ended++
		}
		return ended == len(c.servers)
	})
	if err != nil {
		return err
	}
	lists := make([][]string, len(c.servers))
	for i, s := range c.servers {
		if err := s.stop(); err != nil {
			return err
		}
		if lists[i], err = s.list(); err != nil {
			return err
		}
	}
	return c.compare(lists, out)
}

func (c *cluster) compare(lists [][]string, out io.Writer) error {
	for i, list := range lists {
		if !slices.Equal(list, lists[0]) {
			return fmt.Errorf("server %d has other commands than server 0", i)
		}
	}
	has, twice := map[string]bool{}, 0
	for _, command := range lists[0] {
		if has[command] {
			twice++
		}
		has[command] = true
	}
	lost := 0
	for command := range c.acked {
		if !has[command] {
			lost++
		}
	}
	if lost > 0 || twice > 0 {
		return fmt.Errorf("of %d acknowledged commands, %d are lost; %d are there twice", len(c.acked),
			lost, twice)
	}
	fmt.Fprintf(out, "All three have the same %d commands, and all %d that were acknowledged.\n",
		len(lists[0]), len(c.acked))
	return nil
}

// stop ends the server in good order.
func (c *child) stop() error {
	err := c.input.Close()
	for range c.output { // it says nothing that matters any more
	}
	return errors.Join(err, c.process.Wait())
}

// list returns the commands in the state of a server that does not run, without the end.
func (c *child) list() (list []string, err error) {
	m, err := raftstore.OpenMachine(filepath.Join(c.plan.Dir, "state"), nil, appendCommand)
	if err != nil {
		return nil, err
	}
	err = m.View(func(tx *stoat.Tx) error {
		b, err := tx.Bucket([]byte(listName))
		if err != nil {
			return err
		}
		for _, value := range b.Scan(stoat.Range{}) {
			if string(value) != endCommand {
				list = append(list, string(value))
			}
		}
		return nil
	})
	return list, errors.Join(err, m.Close())
}

func (c *cluster) killAll() {
	for _, s := range c.servers {
		if s.process != nil && s.process.ProcessState == nil {
			s.kill()
		}
	}
}
