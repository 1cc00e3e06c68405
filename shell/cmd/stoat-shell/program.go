package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
)

// errZeroByte is returned for a word that cannot be passed to a program.
var errZeroByte = errors.New("a word contains a zero byte, which an argument cannot: " +
	"write keys and values in hexadecimal, with -hex")

// program is the program that runs the commands, with its input and outputs.
type program struct {
	name     string
	in       io.Reader
	out, err io.Writer
}

// run runs the program with arguments and returns its exit code. An interrupt ends the program,
// not the shell.
func (p *program) run(args []string) (code int, err error) {
	for _, arg := range args {
		if strings.ContainsRune(arg, 0) {
			return exitUsage, errZeroByte
		}
	}
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	c := exec.Command(p.name, args...)
	c.Stdin, c.Stdout, c.Stderr = p.in, p.out, p.err
	err = c.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return exit.ExitCode(), nil // the program has reported it
	}
	if err != nil {
		return exitError, err
	}
	return exitOK, nil
}
