// Package external lets any program be an engine.
//
// The program is started once for each job. It receives one JSON object on standard input: a
// folder, and a list of steps. After each step it answers with one line of JSON on standard output.
// Its other inputs, the values to store and the numbers to look up, are in files: the program need
// not generate them, and does the same as all other engines. EXTERNAL.md describes all this for
// authors of such programs.
//
// A suite describes its jobs with a [Plan]. This package starts the program, checks each answer as
// it arrives, and turns the answers into measurements. It starts one process at a time and keeps
// nothing.
package external

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/stoatdb/stoat/bench/engine"
	"github.com/stoatdb/stoat/bench/suite"
)

// protocol is the version of the protocol.
const protocol = 1

// Program is an external program that is an engine.
type Program struct {
	Name    string
	Command []string // its path or name, and its arguments
}

// Parse parses a text such as "log=node engine.mjs". The words of the command are separated by
// spaces; no other character is special.
func Parse(text string) (Program, error) {
	name, command, ok := strings.Cut(text, "=")
	p := Program{Name: name, Command: strings.Fields(command)}
	if !ok || name == "" || len(p.Command) == 0 || strings.ContainsAny(name, ", ") {
		return Program{}, fmt.Errorf("external engine %q is not NAME=COMMAND", text)
	}
	return p, nil
}

// About describes the program as an engine.
func (p Program) About() engine.About {
	return engine.About{
		Name: p.Name, Version: "external", Settings: strings.Join(p.Command, " "),
	}
}

// Plan returns the scripts of a job. Each is performed by its own process, one after another, in
// the same folder. Without any script, there is nothing to do. The plan writes the files that the
// scripts name into the folder of [Input].
type Plan func(job suite.Job) ([]Script, error)

// Unsupported is the error for a job that a program cannot do, which is not a failure.
type Unsupported struct {
	Engine string
	Reason string
}

// Error names the engine and the reason.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("engine %s: not supported: %s", u.Engine, u.Reason)
}

// Database returns the folder of a job's database, which only the program uses and which is empty
// at first.
func Database(job suite.Job) string { return filepath.Join(job.Dir, "db") }

// Input returns the path of an input file of a job's program.
func Input(job suite.Job, name string) string { return filepath.Join(job.Dir, "input", name) }

// prepare creates the folders of a job and returns its scripts.
func prepare(plan Plan, job suite.Job) ([]Script, error) {
	err := errors.Join(
		os.MkdirAll(Database(job), 0o700),
		os.MkdirAll(filepath.Dir(Input(job, "x")), 0o700),
	)
	if err != nil {
		return nil, err
	}
	return plan(job)
}
