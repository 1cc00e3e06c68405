package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// actor is a process that plays a role. Not safe for concurrent use.
type actor struct {
	name  string
	out   io.Writer
	cmd   *exec.Cmd
	input io.Writer
	lines *bufio.Scanner
}

// newActor starts this program once more, with a role.
func newActor(out io.Writer, name string, args ...string) (*actor, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &actor{name: name, out: out, cmd: exec.Command(program, args...)}
	a.cmd.Stderr = os.Stderr
	if a.input, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	said, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	a.lines = bufio.NewScanner(said)
	return a, a.cmd.Start()
}

// tell writes a line to the process.
func (a *actor) tell(word string) error {
	_, err := fmt.Fprintln(a.input, word)
	return err
}

// await reads until the process has said a word with a number that is high enough, and returns it.
func (a *actor) await(word string, least int) (n int, err error) {
	for a.lines.Scan() {
		if said, number := parse(a.lines.Text()); said == word && number >= least {
			fmt.Fprintf(a.out, "  %s: %s\n", a.name, a.lines.Text())
			return number, nil
		}
	}
	return 0, fmt.Errorf("the %s has ended without %q", a.name, word)
}

// kill ends the process as kill -9 does, unless it has ended, and returns the last commit that it
// has acknowledged since it was read last.
func (a *actor) kill() (last int) {
	_ = a.cmd.Process.Kill()
	for a.lines.Scan() {
		if said, number := parse(a.lines.Text()); said == wordCommitted {
			last = number
		}
	}
	_ = a.cmd.Wait() // it was killed
	return last
}

// parse returns the words of a line and the number behind them; one that is cut off has none.
func parse(line string) (word string, number int) {
	at := strings.LastIndexByte(line, ' ')
	if at < 0 || !strings.HasSuffix(line, ".") {
		return line, 0
	}
	_, _ = fmt.Sscanf(line[at+1:], "%d.", &number)
	return line[:at], number
}
