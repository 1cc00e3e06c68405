// Package external lets any program be an engine.
//
// The program is started once for each job. It gets one JSON object on standard input: a folder,
// and steps to do one after the other. After each step it answers with one line of JSON on standard
// output. What it needs to know beside, the values to store and the numbers to look up, lies in
// files, so that it need not make them as this module does, and does the same as all other engines.
// EXTERNAL.md describes all of this for those who write such a program.
//
// A suite says what its jobs are with a [Plan]. This package starts the program, checks each answer
// as it comes, and makes measurements of them. It starts one process at a time and keeps nothing.
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

// protocol is the version of what is said to a program.
const protocol = 1

// Program is an engine that is a program of its own.
type Program struct {
	Name    string
	Command []string // its path or name, and its arguments
}

// Parse returns the program that a text such as "log=node engine.mjs" names. The words of the
// command are separated by spaces, and nothing else in it has a meaning.
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

// Plan says what a program does in a job: the scripts, each of which a process of its own performs,
// one after the other and in the same folder. No script at all is a job without any work for it.
// The plan writes the files that the scripts name into the folder of [Input].
type Plan func(job suite.Job) ([]Script, error)

// Unsupported is the error of a job that cannot be done with a program, which is nobody's fault.
type Unsupported struct {
	Engine string
	Reason string
}

// Error says which engine does not support the job, and why.
func (u *Unsupported) Error() string {
	return fmt.Sprintf("engine %s: not supported: %s", u.Engine, u.Reason)
}

// Database returns the folder of a job's database: the program's alone, and empty at first.
func Database(job suite.Job) string { return filepath.Join(job.Dir, "db") }

// Input returns the path of a file that a job's program is given.
func Input(job suite.Job, name string) string { return filepath.Join(job.Dir, "input", name) }

// prepare makes the folders of a job and returns its scripts.
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
