package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
)

// program is another program, for work that needs libraries which this one lacks.
type program struct {
	name   string
	module string // the directory of its module
}

// programFailed is an error that another program has already reported.
type programFailed struct {
	name string
	code int // its exit code
}

func (e *programFailed) Error() string { return fmt.Sprintf("%s: exit code %d", e.name, e.code) }

// given returns the flags that were given, as arguments for another program.
func given(flags *flag.FlagSet) (args []string) {
	flags.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	return args
}

// find returns the path of the program, which is in PATH, or beside this one.
func (p *program) find() (string, error) {
	path, err := exec.LookPath(p.name)
	if err == nil {
		return path, nil
	}
	if own, failed := os.Executable(); failed == nil {
		path, err = exec.LookPath(filepath.Join(filepath.Dir(own), p.name))
	}
	if err != nil {
		return "", fmt.Errorf("this needs the program %[1]s, which is not in PATH; get it with\n"+
			"  go install github.com/stoatdb/stoat/%[2]s/cmd/%[1]s@latest\n"+
			"or, in a clone of the repository, with\n  go install -C %[2]s ./cmd/%[1]s",
			p.name, p.module)
	}
	return path, nil
}

// run runs the program with arguments, on the same standard input and output.
func (p *program) run(s *stdio, args []string) error {
	path, err := p.find()
	if err != nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return err
	}
	c := exec.Command(path, args...)
	c.Stdin, c.Stdout, c.Stderr = s.in, s.unbuffered, s.err
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go passOn(c.Process, ended)
	err = c.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &programFailed{p.name, exit.ExitCode()}
	}
	return err
}

// passOn keeps this process alive when a signal asks it to end, so that it can return the exit code
// of the other. A terminal interrupts both; any other signal reaches only this one, and is passed
// on.
func passOn(other *os.Process, ended <-chan struct{}) {
	told := make(chan os.Signal, 1)
	signal.Notify(told, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(told)
	for {
		select {
		case how := <-told:
			if how != os.Interrupt {
				_ = other.Signal(how) // it may have ended
			}
		case <-ended:
			return
		}
	}
}
