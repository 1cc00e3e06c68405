package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

const (
	// elsewhere is the program that imports what needs a library of others.
	elsewhere = "stoat-import"
	// getElsewhere is a line for a shell that installs it.
	getElsewhere = "go install github.com/stoatdb/stoat/importer/cmd/stoat-import@latest"
)

// otherProgram is an error that another program has reported itself.
type otherProgram struct {
	code int // its exit code
}

func (e *otherProgram) Error() string { return fmt.Sprintf("%s: exit code %d", elsewhere, e.code) }

// importElsewhere has stoat-import do it.
func importElsewhere(s *stdio, flags *flag.FlagSet, o *importFlags, db string) error {
	if _, _, err := o.source(); err != nil {
		return err
	}
	program, err := exec.LookPath(elsewhere)
	if err != nil {
		return fmt.Errorf("this needs the program %s, which is not in PATH; get it with\n  %s",
			elsewhere, getElsewhere)
	}
	var args []string
	flags.Visit(func(f *flag.Flag) { args = append(args, "-"+f.Name+"="+f.Value.String()) })
	c := exec.Command(program, append(args, "--", db)...)
	c.Stdin, c.Stdout, c.Stderr = s.in, s.out, s.err
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go passOn(c.Process, ended)
	err = c.Wait()
	close(ended)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return &otherProgram{exit.ExitCode()}
	}
	return err
}

// passOn keeps this process waiting when it is told to end, so that it returns what the other one
// does. A terminal tells both of an interrupt, and all else tells this one only.
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
